//! The request of an operation: HTTP.

use std::collections::BTreeSet;

use weigh_drivers::http::StatusExpect;
use weigh_load::generator::GeneratorSpec;

use super::super::{OperationSection, RequestText, text};
use super::operation::Counts;
use super::variant::Expander;
use crate::plan::{ResolvedRequest, ResolvedText};

impl Expander<'_> {
    /// `None` when it was reported.
    pub(super) fn request(
        &mut self,
        path: &str,
        written: &RequestText,
        operation: &OperationSection,
        counts: Counts,
    ) -> Option<(ResolvedText, Vec<GeneratorSpec>)> {
        let before = self.errors.len();
        let line = self.fill(&format!("{path}.request"), &written.request);
        let headers = written.headers.iter();
        let headers: Vec<(String, String)> = headers
            .map(|(name, value)| (name.clone(), self.fill(&format!("{path}.headers.{name}"), value)))
            .collect();
        let body = written.body.as_ref().map(|text| self.fill(&format!("{path}.body"), text));
        let expect_body =
            written.expect_body.as_ref().map(|text| self.fill(&format!("{path}.expect_body"), text));
        let status = written.expect.as_ref().and_then(|text| self.status(path, text));
        let expect_length = written.expect_length.as_ref().and_then(|text| self.length(path, text));
        let parameters = self.parameters(path, operation);
        for (name, number) in [("repeat", counts.repeat), ("rows", counts.rows)] {
            self.refuse_count(path, name, number, "one request; `load.pipeline` sends several at once");
        }
        if self.errors.len() > before {
            return None;
        }
        let (method, target) = self.request_line(path, &line)?;
        let texts = headers.iter().map(|(_, value)| value).chain(&body).chain(&expect_body);
        let used: BTreeSet<u32> =
            texts.chain([&target]).flat_map(|filled| text::parameters(filled)).collect();
        self.check_numbers((path, "request", "the request"), &used, parameters.len());
        let request = ResolvedRequest { method, target, headers, body, status, expect_body, expect_length };
        Some((ResolvedText::Request(request), parameters))
    }

    /// `POST /items/$1` → method and target.
    fn request_line(&mut self, path: &str, line: &str) -> Option<(String, String)> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [method, target]
                if method.chars().all(|c| c.is_ascii_uppercase() || c == '-')
                    && (target.starts_with('/') || *target == "*") =>
            {
                Some(((*method).to_owned(), (*target).to_owned()))
            }
            _ => {
                let what = format!("`{}` is not a request", line.trim());
                let expected = "a method and a path without spaces, such as `GET /items/$1`";
                self.error(&format!("{path}.request"), what, expected);
                None
            }
        }
    }

    /// `200`, `2xx`, `any`.
    fn status(&mut self, path: &str, text: &str) -> Option<StatusExpect> {
        let path = format!("{path}.expect");
        let before = self.errors.len();
        let filled = self.fill(&path, text);
        let rule = filled.trim().parse().ok();
        if rule.is_none() && self.errors.len() == before {
            let what = format!("`expect` is `{filled}`");
            self.error(&path, what, "a status such as `200`, a class such as `2xx`, or `any`");
        }
        rule
    }

    fn length(&mut self, path: &str, text: &str) -> Option<u64> {
        let path = format!("{path}.expect_length");
        let before = self.errors.len();
        let filled = self.fill(&path, text);
        let length = filled.trim().parse::<u64>().ok();
        if length.is_none() && self.errors.len() == before {
            self.error(&path, format!("`expect_length` is `{filled}`"), "a length in bytes");
        }
        length
    }
}
