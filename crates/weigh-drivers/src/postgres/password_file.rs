//! `.pgpass`: passwords by host, port, database and role (PostgreSQL's documentation, section 34.16).

/// What a password is looked up by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    pub(super) host: &'a str,
    pub(super) port: u16,
    pub(super) database: &'a str,
    pub(super) user: &'a str,
}

/// The password of the first line of `file` that fits.
pub(super) fn find(file: &str, wanted: Wanted<'_>) -> Option<String> {
    let Wanted { host, port, database, user } = wanted;
    let port = port.to_string();
    let keys = [host, &port, database, user];
    file.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let mut fields = fields(line);
        let fits = |key: &&str, field: String| field == "*" || field == **key;
        let all = keys.iter().all(|key| fields.next().is_some_and(|field| fits(key, field)));
        all.then(|| fields.next()).flatten().filter(|password| !password.is_empty())
    })
}

/// The fields of a line: separated by colons, `\:` and `\\` for the characters themselves.
fn fields(line: &str) -> impl Iterator<Item = String> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let mut field = String::new();
        let mut letters = rest?.char_indices();
        while let Some((at, letter)) = letters.next() {
            match letter {
                ':' => {
                    rest = rest.map(|line| &line[at + 1..]);
                    return Some(field);
                }
                '\\' => field.extend(letters.next().map(|(_, letter)| letter)),
                letter => field.push(letter),
            }
        }
        rest = None;
        Some(field)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
# db:5432:*:ann:not this one
db:5432:shop:ann:first
db:*:*:ann:it\\:s \\\\ fine
short:line
*:*:*:bob:
::1:5432:*:eve:no
\\:\\:1:5432:*:eve:six
";

    fn check(host: &str, database: &str, user: &str, password: Option<&str>) {
        let found = find(FILE, Wanted { host, port: 5432, database, user });
        assert_eq!(found.as_deref(), password, "{host} {database} {user}");
    }

    #[test]
    fn the_first_line_that_fits_wins() {
        check("db", "shop", "ann", Some("first"));
        check("db", "other", "ann", Some("it:s \\ fine"));
        check("elsewhere", "shop", "ann", None);
        check("db", "shop", "bob", None);
        check("::1", "shop", "eve", Some("six"));
    }
}
