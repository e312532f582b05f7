//! The pictures of README and docs, taken from real runs by the tool itself.
//!
//! `make screenshots` makes the runs and sets two variables: `WEIGH_PICTURES_OF`, a directory of runs, and
//! `WEIGH_PICTURES_TO`, where pictures go. Without them the pictures that are there are looked at.

use std::path::{Path, PathBuf};

use super::checks::wait_until_drawn;
use super::served::Served;
use super::tab::{Colours, Size, Tab};
use crate::home::Home;

/// A page that takes long to load is not looked at.
const MOST_BYTES: u64 = 300_000;

/// Name of a picture, address below the gallery (`RUN` is the run of that experiment), size, colours.
const PICTURES: [(&str, &str, Size, Colours); 5] = [
    ("page-light.png", "/runs/RUN", Size::Desktop, Colours::Light),
    ("page-dark.png", "/runs/RUN", Size::Desktop, Colours::Dark),
    ("page-phone.png", "/runs/RUN", Size::Phone, Colours::Light),
    ("gallery-light.png", "/", Size::Desktop, Colours::Light),
    ("gallery-phone.png", "/", Size::Phone, Colours::Dark),
];
/// Down to the first chart.
const HEIGHT_PX: u32 = 1_300;
/// The run that is shown.
const SHOWN: &str = "postgres-durability";

#[test]
fn pictures_are_those_of_the_tool() {
    let images = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/images");
    if let (Some(of), Some(to)) =
        (std::env::var_os("WEIGH_PICTURES_OF"), std::env::var_os("WEIGH_PICTURES_TO"))
    {
        take(&PathBuf::from(of), &PathBuf::from(to));
    }
    for (name, ..) in PICTURES {
        let bytes = std::fs::read(images.join(name))
            .unwrap_or_else(|error| panic!("{name}: {error}; make screenshots"));
        assert!(bytes.starts_with(b"\x89PNG"), "{name} is no picture");
        let length = bytes.len() as u64;
        assert!((5_000..MOST_BYTES).contains(&length), "{name} has {length} bytes");
    }
}

fn take(of: &Path, to: &Path) {
    let home = Home::new();
    let mut shown = None;
    for entry in std::fs::read_dir(of).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let dir = super::runs::runs(&home).join(&name);
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::copy(entry.path().join("events.jsonl"), dir.join("events.jsonl")).unwrap();
        if name.contains(SHOWN) {
            shown = Some(name);
        }
    }
    let shown = shown.unwrap_or_else(|| panic!("no run of {SHOWN} in {}", of.display()));
    let served = Served::start(&home, &[]);
    for (name, path, size, colours) in PICTURES {
        let tab = Tab::open(&format!("{}{}", served.root(), path.replace("RUN", &shown)), size, colours);
        wait_until_drawn(&tab);
        std::fs::write(to.join(name), tab.picture(if size == Size::Phone { 844 } else { HEIGHT_PX }))
            .unwrap();
    }
}
