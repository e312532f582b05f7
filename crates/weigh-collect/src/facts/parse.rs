//! Formats of the files that say what kind of machine this is, as pure functions of their bytes.

use crate::text::{lines, trimmed};

/// The value of one key of `os-release(5)`, without its quotes.
pub fn os_release(text: &[u8], key: &str) -> Option<String> {
    lines(text).find_map(|line| {
        let value = line.strip_prefix(key.as_bytes())?.strip_prefix(b"=")?.trim_ascii();
        let quoted = |quote: &[u8]| value.strip_prefix(quote)?.strip_suffix(quote);
        let value = quoted(b"\"").or_else(|| quoted(b"'")).unwrap_or(value);
        Some(String::from_utf8_lossy(value).into_owned())
    })
}

/// The CPU's name from `/proc/cpuinfo`. Architectures call it differently, and some do not give it.
pub fn cpu_model(cpuinfo: &[u8]) -> Option<String> {
    ["model name", "cpu model", "Model", "Hardware", "cpu"]
        .iter()
        .find_map(|key| cpuinfo_value(cpuinfo, key))
        .filter(|model| !model.is_empty())
}

/// Whether `/proc/cpuinfo` shows the flag by which a hypervisor announces itself (x86).
pub fn has_hypervisor_flag(cpuinfo: &[u8]) -> bool {
    cpuinfo_value(cpuinfo, "flags").is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor"))
}

fn cpuinfo_value(text: &[u8], key: &str) -> Option<String> {
    lines(text).find_map(|line| {
        let colon = line.iter().position(|&byte| byte == b':')?;
        (line[..colon].trim_ascii() == key.as_bytes()).then(|| trimmed(&line[colon + 1..]))
    })
}

/// The timer tick from a kernel configuration: `CONFIG_HZ=250`.
pub fn config_hz(config: &[u8]) -> Option<u32> {
    lines(config).find_map(|line| trimmed(line.strip_prefix(b"CONFIG_HZ=")?).parse().ok())
}

/// The choice in force in a list like `always [madvise] never`, or the only one there is.
pub fn chosen(text: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    let mut words = text.split_whitespace();
    let bracketed = words.clone().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    let only = words.next().filter(|_| words.next().is_none());
    bracketed.or(only).map(str::to_owned)
}

/// The container technology that a `/proc/1/cgroup` or a path in it gives away.
pub fn container_of_cgroup(text: &[u8]) -> Option<&'static str> {
    let text = String::from_utf8_lossy(text);
    [
        ("kubepods", "kubernetes"),
        ("libpod", "podman"),
        ("docker", "docker"),
        ("containerd", "containerd"),
        ("lxc", "lxc"),
        ("garden", "garden"),
    ]
    .into_iter()
    .find_map(|(mark, name)| text.contains(mark).then_some(name))
}

/// The hypervisor that the vendor and product a virtual machine shows in its firmware give away.
pub fn hypervisor_of_firmware(vendor: &str, product: &str) -> Option<&'static str> {
    let both = format!("{vendor} {product}");
    [
        ("Amazon EC2", "Amazon EC2"),
        ("Google Compute Engine", "Google Compute Engine"),
        ("Microsoft Corporation Virtual Machine", "Hyper-V"),
        ("VMware", "VMware"),
        ("VirtualBox", "VirtualBox"),
        ("OpenStack", "OpenStack"),
        ("DigitalOcean", "DigitalOcean"),
        ("Hetzner", "Hetzner"),
        ("Xen", "Xen"),
        ("Parallels", "Parallels"),
        ("KVM", "KVM"),
        ("QEMU", "QEMU"),
    ]
    .into_iter()
    .find_map(|(mark, name)| both.contains(mark).then_some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices() {
        assert_eq!(chosen(b"always [madvise] never\n").as_deref(), Some("madvise"));
        assert_eq!(chosen(b"none\n").as_deref(), Some("none"));
        assert_eq!(chosen(b"two words\n"), None);
        assert_eq!(chosen(b""), None);
    }

    #[test]
    fn quotes_of_os_release() {
        let text = b"NAME=Fedora\nPRETTY_NAME='A \"B\" 9'\nX=\"";
        assert_eq!(os_release(text, "PRETTY_NAME").as_deref(), Some("A \"B\" 9"));
        assert_eq!(os_release(text, "NAME").as_deref(), Some("Fedora"));
        assert_eq!(os_release(text, "X").as_deref(), Some("\""));
        assert_eq!(os_release(text, "ID"), None);
    }

    #[test]
    fn hypervisors_and_containers() {
        assert_eq!(hypervisor_of_firmware("Amazon EC2", "m7a.large"), Some("Amazon EC2"));
        assert_eq!(hypervisor_of_firmware("QEMU", "Standard PC (Q35 + ICH9, 2009)"), Some("QEMU"));
        assert_eq!(hypervisor_of_firmware("Dell Inc.", "PowerEdge R640"), None);
        assert_eq!(container_of_cgroup(b"4:cpu:/docker/0a1b2c\n"), Some("docker"));
        assert_eq!(container_of_cgroup(b"0::/init.scope\n"), None);
    }

    #[test]
    fn only_the_number_is_the_tick() {
        let config = b"# CONFIG_HZ_100 is not set\nCONFIG_HZ_250=y\nCONFIG_HZ=250\n";
        assert_eq!(config_hz(config), Some(250));
        assert_eq!(config_hz(b"CONFIG_HZ=many\n"), None);
    }
}
