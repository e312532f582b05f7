//! Version numbers: what was asked for, what there is, and which of it is meant.

/// Numbers of a version, compared part by part: `[16, 15]`, `[9, 6, 24]`.
type Numbers = Vec<u32>;

/// One published build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Release {
    /// As PostgreSQL itself writes it: `16.15`, `9.6.24`.
    pub(super) version: String,
    /// As it is published: `16.15.0`, `10.5.0-1`.
    pub(super) artifact: String,
    numbers: Numbers,
    /// The build of this version.
    revision: u32,
}

impl Release {
    /// Reads a published number; `None` for what is not made of numbers.
    pub(super) fn parse(artifact: &str) -> Option<Release> {
        let (numbers, revision) = artifact.split_once('-').unwrap_or((artifact, "0"));
        let mut numbers = numbers_of(numbers)?;
        // Since 10 a version has two parts; what is published always has three.
        if numbers.first().is_some_and(|major| *major >= 10) {
            numbers.truncate(2);
        }
        let version = numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(".");
        Some(Release { version, artifact: artifact.to_owned(), numbers, revision: revision.parse().ok()? })
    }

    /// The newest build of the newest version that `asked` stands for; otherwise the version nearest to it.
    ///
    /// # Errors
    /// The nearest there is; `None` when there is nothing at all.
    pub(super) fn choose<'a>(asked: &str, all: &'a [Release]) -> Result<&'a Release, Option<&'a Release>> {
        let meant = all.iter().filter(|release| matches(asked, &release.version));
        meant.max_by_key(|release| (&release.numbers, release.revision)).ok_or_else(|| nearest(asked, all))
    }
}

/// Whether `asked` (`16`, `16.4`, `9.6`) stands for the version `found` (`16.4`, `9.6.24`).
pub(in crate::systems::postgres) fn matches(asked: &str, found: &str) -> bool {
    found == asked || found.strip_prefix(asked).is_some_and(|rest| rest.starts_with('.'))
}

/// For sorting, newest last; what is not made of numbers (`17beta1`) before everything else.
pub(super) fn numbers_of(version: &str) -> Option<Numbers> {
    version.split('.').map(|part| part.parse().ok()).collect()
}

fn nearest<'a>(asked: &str, all: &'a [Release]) -> Option<&'a Release> {
    let wanted = numbers_of(asked)?;
    // By the first part that differs; of several, the newest.
    let distance = |release: &Release| {
        let pairs = wanted.iter().zip(&release.numbers);
        pairs.map(|(one, other)| one.abs_diff(*other)).collect::<Vec<_>>()
    };
    let newest = |release: &Release| std::cmp::Reverse((release.numbers.clone(), release.revision));
    all.iter().min_by_key(|release| (distance(release), newest(release)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn releases() -> Vec<Release> {
        // As published.
        let all = ["9.6.10", "9.6.24", "10.5.0", "10.5.0-1", "16.4.0", "16.15.0", "18.6.0"];
        all.iter().map(|artifact| Release::parse(artifact).unwrap()).collect()
    }

    #[test]
    fn the_newest_build_of_what_is_asked_for_is_chosen() {
        let all = releases();
        let chosen = |asked| Release::choose(asked, &all).map(|release| release.artifact.as_str());
        assert_eq!(chosen("16"), Ok("16.15.0"));
        assert_eq!(chosen("16.4"), Ok("16.4.0"));
        assert_eq!(chosen("10"), Ok("10.5.0-1"));
        assert_eq!(chosen("9.6"), Ok("9.6.24"));
        assert_eq!(all[3].version, "10.5");
        assert_eq!(Release::parse("17beta1"), None);
    }

    #[test]
    fn what_is_not_there_has_a_nearest() {
        let all = releases();
        let nearest =
            |asked| Release::choose(asked, &all).unwrap_err().map(|release| release.version.as_str());
        assert_eq!(nearest("21"), Some("18.6"));
        assert_eq!(nearest("16.5"), Some("16.4"));
        assert_eq!(nearest("8"), Some("9.6.24"));
        assert_eq!(nearest("latest"), None);
        assert_eq!(Release::choose("16", &[]), Err(None));
    }

    #[test]
    fn a_prefix_is_a_whole_part() {
        assert!(matches("16", "16.4") && matches("16.4", "16.4") && matches("9.6", "9.6.24"));
        assert!(!matches("1", "16.4") && !matches("16.1", "16.15") && !matches("16.4", "16"));
    }
}
