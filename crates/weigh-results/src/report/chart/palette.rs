//! Colours, markers and dashes: the eight of Okabe and Ito, which people of every colour vision tell apart
//! (M. Okabe, K. Ito, Color Universal Design, 2008), darkened or lightened to stand out from the page (WCAG 2.2, 3:1).

/// Light or dark page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

/// What tells a variant apart, besides its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ink {
    /// Colour on a light page, `#rrggbb`.
    pub light: &'static str,
    /// Colour on a dark page.
    pub dark: &'static str,
    /// Shape of its points.
    pub marker: Marker,
    /// Lengths of strokes and gaps in pixels; empty for a solid line.
    pub dash: &'static [u8],
}

/// Shape of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// ●
    Circle,
    /// ■
    Square,
    /// ▲
    Triangle,
    /// ◆
    Diamond,
    /// ▼
    TriangleDown,
    /// ✚
    Plus,
    /// ✖
    Cross,
    /// ★
    Star,
}

/// Every marker, in the order of the palette.
pub const MARKERS: [Marker; 8] = [
    Marker::Circle,
    Marker::Square,
    Marker::Triangle,
    Marker::Diamond,
    Marker::TriangleDown,
    Marker::Plus,
    Marker::Cross,
    Marker::Star,
];

/// (light, dark); the baseline's is the neutral one at 0.
const COLOURS: [(&str, &str); 8] = [
    ("#3d3d3d", "#d0d0d0"),
    ("#0072b2", "#56b4e9"),
    ("#b34700", "#e69f00"),
    ("#00795a", "#2fc89f"),
    ("#a3437a", "#e39ac4"),
    ("#6f6a00", "#f0e442"),
    ("#c0392b", "#ff7f6b"),
    ("#5b4bb5", "#a99cf5"),
];

const DASHES: [&[u8]; 4] = [&[], &[7, 4], &[2, 3], &[9, 3, 2, 3]];

/// The ink of place `index` in the palette: colours and markers come again after eight, with another dash.
#[must_use]
pub fn ink(index: usize) -> Ink {
    let (light, dark) = COLOURS[index % COLOURS.len()];
    let again = index / COLOURS.len();
    Ink { light, dark, marker: MARKERS[(index + again) % MARKERS.len()], dash: DASHES[index % DASHES.len()] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_of_64_variants_look_the_same() {
        let inks: Vec<Ink> = (0..64).map(ink).collect();
        for (place, one) in inks.iter().enumerate() {
            assert!(inks[..place].iter().all(|other| other != one), "{place}");
        }
    }
}
