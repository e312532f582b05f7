//! Escaping, and how much room letters take without a font to ask.

/// As text or attribute of XML: markup escaped, line breaks as spaces, and what XML does not allow replaced.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(' '),
            control if control < ' ' || control == '\u{fffe}' || control == '\u{ffff}' => {
                out.push('\u{fffd}')
            }
            other => out.push(other),
        }
    }
    out
}

/// A coordinate, to a tenth of a pixel.
pub(super) fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// About the width of a text in a sans-serif font, rather too wide than too narrow.
pub(super) fn width_px(text: &str, font_px: f64) -> f64 {
    font_px * text.chars().map(letter_em).sum::<f64>()
}

/// Widths of DejaVu Sans, the widest of the fonts a system is likely to have.
fn letter_em(letter: char) -> f64 {
    match letter {
        'i' | 'j' | 'l' | '\'' | '|' => 0.30,
        ' ' | '.' | ',' | ':' | ';' | '!' | '/' | '\\' | '(' | ')' | '[' | ']' | 'I' | '-' | '·' => 0.39,
        'f' | 't' | 'r' | '"' | '`' => 0.43,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '…' => 0.98,
        '<' | '>' | '=' | '+' | '~' | '#' => 0.84,
        'A'..='Z' | '_' | '&' => 0.72,
        letter if (letter as u32) < 0x1100 => 0.64,
        _ => 1.05,
    }
}

/// The text, cut in the middle where it is wider than `max_px`: two variants often begin alike, and end alike.
pub(super) fn fit(text: &str, font_px: f64, max_px: f64) -> String {
    if width_px(text, font_px) <= max_px {
        return text.to_owned();
    }
    let letters: Vec<char> = text.chars().collect();
    let room = max_px / font_px - letter_em('…');
    let (mut used, mut head, mut tail) = (0.0, 0, 0);
    while head + tail < letters.len() {
        let from_head = head <= tail;
        let next = if from_head { letters[head] } else { letters[letters.len() - 1 - tail] };
        used += letter_em(next);
        if used > room {
            break;
        }
        if from_head { head += 1 } else { tail += 1 }
    }
    let start: String = letters[..head].iter().collect();
    let end: String = letters[letters.len() - tail..].iter().collect();
    format!("{}…{}", start.trim_end(), end.trim_start())
}

/// At most `lines` lines broken at spaces; the last is cut where the rest does not fit.
pub(super) fn wrap(text: &str, font_px: f64, max_px: f64, lines: usize) -> Vec<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut wrapped: Vec<String> = Vec::new();
    let mut at = 0;
    while at < words.len() {
        if wrapped.len() + 1 == lines {
            wrapped.push(fit(&words[at..].join(" "), font_px, max_px));
            break;
        }
        let mut taken = 1;
        while at + taken < words.len() && width_px(&words[at..=at + taken].join(" "), font_px) <= max_px {
            taken += 1;
        }
        wrapped.push(fit(&words[at..at + taken].join(" "), font_px, max_px));
        at += taken;
    }
    wrapped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_a_reader_sees_is_escaped() {
        assert_eq!(
            escape("a<b & 'c' > \"d\"\n\u{1}e"),
            "a&lt;b &amp; &#39;c&#39; &gt; &quot;d&quot; \u{fffd}e"
        );
    }

    #[test]
    fn long_texts_keep_both_ends() {
        let cut = fit("SELECT count(*) FROM orders WHERE region = 'north'", 12.0, 150.0);
        assert!(cut.starts_with("SELECT") && cut.ends_with("north'") && cut.contains('…'), "{cut}");
        assert!(width_px(&cut, 12.0) <= 150.0, "{cut}");
        assert_eq!(fit("off", 12.0, 150.0), "off");
        assert_eq!(fit("anything", 12.0, 0.0), "…");
    }

    #[test]
    fn lines_are_as_many_as_allowed() {
        let text = "one two three four five six seven eight nine";
        let lines = wrap(text, 12.0, 90.0, 2);
        assert_eq!(lines.len(), 2);
        assert!(lines[1].contains('…') && lines[1].ends_with("nine"), "{lines:?}");
        assert_eq!(wrap(text, 12.0, 9_000.0, 2), [text]);
        assert!(wrap("", 12.0, 90.0, 2).is_empty());
        assert_eq!([number(1.0), number(-0.01), number(12.34)], ["1", "0", "12.3"]);
    }
}
