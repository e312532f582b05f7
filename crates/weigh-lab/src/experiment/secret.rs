//! Passwords in URLs: needed to connect, never stored.

/// The text with the password of a `scheme://user:password@host` URL, or of a `password=…` word, taken out.
/// A resumed run reads it from `PGPASSWORD` instead.
pub fn without_password(text: &str) -> String {
    let text = without_url_password(text);
    match text.find("password=") {
        Some(start) => {
            let value = start + "password=".len();
            let end = text[value..].find([' ', '&']).map_or(text.len(), |length| value + length);
            format!("{}{}", &text[..value], &text[end..])
        }
        None => text,
    }
}

fn without_url_password(text: &str) -> String {
    let taken_out = || {
        let authority = text.find("://")? + "://".len();
        let end = text[authority..].find(['/', '?', ' ']).map_or(text.len(), |length| authority + length);
        let at = authority + text[authority..end].rfind('@')?;
        let colon = authority + text[authority..at].find(':')?;
        Some(format!("{}{}", &text[..colon], &text[at..]))
    };
    taken_out().unwrap_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_password_goes() {
        for (text, expected) in [
            ("postgres://u:s3cret@h:5432/d", "postgres://u@h:5432/d"),
            ("postgres://u:p@ss@h/d?x=1", "postgres://u@h/d?x=1"),
            ("postgres://u@h/d", "postgres://u@h/d"),
            ("postgres:///d?host=/tmp&password=x&user=u", "postgres:///d?host=/tmp&password=&user=u"),
            ("host=h password=x user=u", "host=h password= user=u"),
            ("--clients", "--clients"),
            ("SELECT 'a@b:c'", "SELECT 'a@b:c'"),
        ] {
            assert_eq!(without_password(text), expected);
        }
    }
}
