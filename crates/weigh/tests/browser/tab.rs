//! One private window, driven and listened to.
//!
//! [`Tab::open`] sets size and colours before the page loads, and hears everything from the first byte on: what is
//! written to the console, every exception, every request. [`Tab::is_silent`] fails if a page complained or asked for
//! anything but itself.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::Engine as _;
use headless_chrome::protocol::cdp::types::{Event, Method};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::chromium::chromium;

/// How long a page may take to do what is waited for; the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(15);

/// Size of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// 1280 by 900.
    Desktop,
    /// 390 by 844, touch, two pixels per pixel.
    Phone,
}

/// What the reader's system prefers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    Light,
    Dark,
}

/// What was heard of a page.
#[derive(Default)]
struct Heard {
    complaints: Vec<String>,
    requests: Vec<String>,
}

pub struct Tab {
    tab: Arc<headless_chrome::Tab>,
    heard: Arc<Mutex<Heard>>,
}

/// A call of the browser's protocol, with what it wants and gives as JSON.
macro_rules! calls {
    ($($call:ident = $name:literal),+ $(,)?) => { $(
        #[derive(Debug, Serialize)]
        struct $call(Value);
        impl Method for $call {
            const NAME: &'static str = $name;
            type ReturnObject = Value;
        }
    )+ };
}

calls! {
    Evaluate = "Runtime.evaluate",
    EnableRuntime = "Runtime.enable",
    EnableLog = "Log.enable",
    EnableNetwork = "Network.enable",
    SetSize = "Emulation.setDeviceMetricsOverride",
    SetMedia = "Emulation.setEmulatedMedia",
    HideScrollbars = "Emulation.setScrollbarsHidden",
    Focus = "Emulation.setFocusEmulationEnabled",
    Navigate = "Page.navigate",
    Screenshot = "Page.captureScreenshot",
    Mouse = "Input.dispatchMouseEvent",
}

impl Tab {
    /// A page in a private window, loaded.
    pub fn open(url: &str, size: Size, colours: Colours) -> Tab {
        let tab = Tab::blank();
        tab.resize(size);
        tab.colours(colours);
        tab.go(url);
        tab
    }

    fn blank() -> Tab {
        let tab = chromium().new_context().unwrap().new_tab().unwrap();
        tab.set_default_timeout(PATIENCE);
        let heard = Arc::new(Mutex::new(Heard::default()));
        let listens = Arc::clone(&heard);
        tab.add_event_listener(Arc::new(move |event: &Event| hear(&mut listens.lock().unwrap(), event)))
            .unwrap();
        let tab = Tab { tab, heard };
        tab.call(EnableRuntime(json!({})));
        tab.call(EnableLog(json!({})));
        tab.call(EnableNetwork(json!({})));
        // Windows that are not in front still have a focus and draw.
        tab.call(Focus(json!({ "enabled": true })));
        tab
    }

    fn call<C: Method<ReturnObject = Value> + Serialize>(&self, call: C) -> Value {
        self.tab.call_method(call).unwrap_or_else(|error| panic!("{}: {error}", C::NAME))
    }

    /// Loads a page.
    pub fn go(&self, url: &str) {
        // The mark goes away with the page that is left.
        self.js::<bool>("globalThis.left = true");
        let gone = self.call(Navigate(json!({ "url": url })));
        assert!(gone["errorText"].is_null(), "{url}: {gone}");
        self.wait("!globalThis.left && document.readyState === 'complete'");
    }

    /// Does what leads to another page, and waits for it.
    pub fn follow(&self, act: impl FnOnce(&Tab)) {
        self.js::<bool>("globalThis.left = true");
        act(self);
        self.wait("!globalThis.left && document.readyState === 'complete'");
    }

    pub fn resize(&self, size: Size) {
        let (width, height, scale, mobile) = match size {
            Size::Desktop => (1280, 900, 1, false),
            Size::Phone => (390, 844, 2, true),
        };
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": scale, "mobile": mobile });
        self.call(SetSize(size));
    }

    pub fn colours(&self, colours: Colours) {
        let value = if colours == Colours::Dark { "dark" } else { "light" };
        self.call(SetMedia(json!({ "features": [{ "name": "prefers-color-scheme", "value": value }] })));
    }

    /// What an expression gives (a promise is awaited); an exception fails the test.
    pub fn js<T: DeserializeOwned>(&self, expression: &str) -> T {
        let given = self.evaluate(expression);
        assert!(given["exceptionDetails"].is_null(), "{expression}: {}", given["exceptionDetails"]);
        let value = given["result"]["value"].clone();
        serde_json::from_value(value).unwrap_or_else(|error| panic!("{expression}: {error}: {given}"))
    }

    fn evaluate(&self, expression: &str) -> Value {
        let arguments = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true, "userGesture": true });
        self.call(Evaluate(arguments))
    }

    /// Waits until an expression is true. Errors count as not yet: the page may be on its way.
    pub fn wait(&self, expression: &str) {
        let begun = Instant::now();
        while self.evaluate(expression)["result"]["value"] != json!(true) {
            assert!(begun.elapsed() < PATIENCE, "never true: {expression}\nheard: {:?}", self.complaints());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Clicks in the middle of an element, as a finger or a mouse would.
    pub fn click(&self, selector: &str) {
        let (x, y) = self.place(selector, (0.5, 0.5));
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            self.mouse(kind, x, y);
        }
    }

    /// Moves the mouse to a place in an element, in shares of its width and height.
    pub fn hover(&self, selector: &str, at: (f64, f64)) {
        let (x, y) = self.place(selector, at);
        self.mouse("mouseMoved", x - 1.0, y);
        self.mouse("mouseMoved", x, y);
    }

    fn mouse(&self, kind: &str, x: f64, y: f64) {
        let (button, count) = if kind == "mouseMoved" { ("none", 0) } else { ("left", 1) };
        self.call(Mouse(json!({ "type": kind, "x": x, "y": y, "button": button, "clickCount": count })));
    }

    /// Scrolls an element into view; gives the place in the window. Of a link over two lines, the first line counts: the
    /// middle of both may be beside it.
    fn place(&self, selector: &str, at: (f64, f64)) -> (f64, f64) {
        let selector = json!(selector);
        let rect: [f64; 4] = self.js(&format!(
            "(() => {{ const found = document.querySelector({selector}); \
             if (!found) throw new Error('nothing is ' + {selector}); \
             found.scrollIntoView({{ block: 'center', behavior: 'instant' }}); \
             const box = found.getClientRects()[0] ?? {{}}; return [box.x ?? 0, box.y ?? 0, box.width ?? 0, box.height ?? 0]; }})()"
        ));
        assert!(rect[2] > 0.0 && rect[3] > 0.0, "{selector} takes no room");
        (rect[0] + rect[2] * at.0, rect[1] + rect[3] * at.1)
    }

    /// Presses and releases a key, by its name (`ArrowRight`).
    pub fn key(&self, name: &str) {
        self.tab.press_key(name).unwrap();
    }

    pub fn type_text(&self, text: &str) {
        self.tab.type_str(text).unwrap();
    }

    /// A picture of the upper part of the page, so many pixels high, without scroll bars.
    pub fn picture(&self, height_px: u32) -> Vec<u8> {
        self.call(HideScrollbars(json!({ "hidden": true })));
        let width: u32 = self.js("innerWidth");
        let clip = json!({ "x": 0, "y": 0, "width": width, "height": height_px, "scale": 1 });
        let taken =
            self.call(Screenshot(json!({ "format": "png", "captureBeyondViewport": true, "clip": clip })));
        base64::engine::general_purpose::STANDARD.decode(taken["data"].as_str().unwrap()).unwrap()
    }

    /// What the page complained about so far.
    pub fn complaints(&self) -> Vec<String> {
        self.heard.lock().unwrap().complaints.clone()
    }

    /// Every address that was asked for so far.
    pub fn requests(&self) -> Vec<String> {
        self.heard.lock().unwrap().requests.clone()
    }

    /// Fails if the page complained, or asked for anything but pages at `allowed`.
    pub fn is_silent(&self, allowed: &str) {
        // Events come on a channel of their own: one more answer is behind all that was before it.
        self.js::<bool>("new Promise(done => setTimeout(() => done(true), 50))");
        assert_eq!(self.complaints(), Vec::<String>::new());
        let other: Vec<String> = self
            .requests()
            .into_iter()
            .filter(|url| !url.starts_with(allowed) && !url.starts_with("data:") && !url.starts_with("blob:"))
            .collect();
        assert!(other.is_empty(), "asked for {other:?}");
        assert!(!self.requests().is_empty(), "nothing was heard of any request");
    }
}

impl Drop for Tab {
    fn drop(&mut self) {
        self.tab.close(false).ok();
    }
}

fn hear(heard: &mut Heard, event: &Event) {
    match event {
        Event::NetworkRequestWillBeSent(event) => heard.requests.push(event.params.request.url.clone()),
        Event::RuntimeExceptionThrown(event) => {
            heard.complaints.push(format!("exception: {:?}", event.params.exception_details));
        }
        Event::LogEntryAdded(event) => {
            let entry = &event.params.entry;
            let level = format!("{:?}", entry.level).to_lowercase();
            if level.contains("error") || level.contains("warning") {
                heard.complaints.push(format!("{level}: {} {:?}", entry.text, entry.url));
            }
        }
        Event::RuntimeConsoleAPICalled(event) => {
            let kind = format!("{:?}", event.params.Type).to_lowercase();
            if ["error", "warning", "assert"].contains(&kind.as_str()) {
                let said: Vec<_> = event
                    .params
                    .args
                    .iter()
                    .map(|said| format!("{:?} {:?}", said.value, said.description))
                    .collect();
                heard.complaints.push(format!("console.{kind}: {}", said.join(" ")));
            }
        }
        _ => {}
    }
}
