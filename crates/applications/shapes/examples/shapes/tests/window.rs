//! Tests of the example's window under a virtual X server: it opens, a drag changes the picture and
//! the counts, and it closes.
//!
//! Without Xvfb the test says so and does nothing, unless `WARPNEST_REQUIRE_XVFB` is set.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use warpnest_applications_shared::testing::program;
use x11rb::connection::Connection;
use x11rb::protocol::xproto::{self, AtomEnum, ConnectionExt as _, ImageFormat, InputFocus, Window};
use x11rb::protocol::xtest::ConnectionExt as _;
use x11rb::rust_connection::RustConnection;

/// The longest time to wait for anything, because the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process that is killed when the test ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts an X server with its own display; returns `None` if Xvfb cannot be run.
fn server() -> Option<(Running, String)> {
    let command = Command::new("Xvfb")
        .args(["-displayfd", "1", "-screen", "0", "800x600x24", "-nolisten", "tcp"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = match command {
        Ok(child) => Running(child),
        Err(error) if std::env::var_os("WARPNEST_REQUIRE_XVFB").is_some() => panic!("Xvfb cannot be run: {error}"),
        Err(_) => {
            eprintln!("Xvfb was not found, so the window is not tested; apt-get install xvfb");
            return None;
        }
    };
    let mut number = String::new();
    BufReader::new(child.0.stdout.take().unwrap()).read_line(&mut number).unwrap();
    Some((child, format!(":{}", number.trim())))
}

/// Calls `ask` repeatedly until it returns a value.
fn wait_for<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(start.elapsed() < PATIENCE, "{what} did not come");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The window under test, as seen by another client of the X server.
struct Seen {
    connection: RustConnection,
    root: Window,
    window: Window,
}

impl Seen {
    fn find(display: &str) -> Self {
        let (connection, screen) = wait_for("the X server", || RustConnection::connect(Some(display)).ok());
        let root = connection.setup().roots[screen].root;
        let window = wait_for("the window", || {
            let children = connection.query_tree(root).unwrap().reply().unwrap().children;
            children.into_iter().find(|child| title_of(&connection, *child).starts_with("shapes: "))
        });
        // A window manager would set the focus for a user.
        connection.set_input_focus(InputFocus::PARENT, window, x11rb::CURRENT_TIME).unwrap().check().unwrap();
        Self { connection, root, window }
    }

    fn title(&self) -> String {
        title_of(&self.connection, self.window)
    }

    fn pixels(&self) -> Vec<u8> {
        let size = self.connection.get_geometry(self.window).unwrap().reply().unwrap();
        // Only the middle third is compared, because the text around it changes.
        let (y, height) = (size.height as i16 / 3, size.height / 3);
        let image =
            self.connection.get_image(ImageFormat::Z_PIXMAP, self.window, 0, y, size.width, height, !0).unwrap();
        image.reply().unwrap().data
    }

    /// Sends an event of the keyboard or the mouse.
    fn send(&self, kind: u8, detail: u8, (x, y): (i16, i16)) {
        self.connection.xtest_fake_input(kind, detail, x11rb::CURRENT_TIME, self.root, x, y, 0).unwrap();
        self.connection.flush().unwrap();
        // This is longer than a frame takes.
        std::thread::sleep(Duration::from_millis(300));
    }

    fn press(&self, keysym: u32) {
        let (first, last) = (self.connection.setup().min_keycode, self.connection.setup().max_keycode);
        let map = self.connection.get_keyboard_mapping(first, last - first + 1).unwrap().reply().unwrap();
        let per_key = map.keysyms_per_keycode as usize;
        let key = map.keysyms.chunks(per_key).position(|syms| syms.contains(&keysym)).unwrap() as u8 + first;
        self.send(xproto::KEY_PRESS_EVENT, key, (0, 0));
        self.send(xproto::KEY_RELEASE_EVENT, key, (0, 0));
    }

    /// Drags with the right button, which moves a shape.
    fn drag(&self, from: (i16, i16), to: (i16, i16)) {
        self.send(xproto::MOTION_NOTIFY_EVENT, 0, from);
        self.send(xproto::BUTTON_PRESS_EVENT, 3, from);
        for step in 1..=4 {
            let between = |from: i16, to: i16| from + (to - from) * step / 4;
            self.send(xproto::MOTION_NOTIFY_EVENT, 0, (between(from.0, to.0), between(from.1, to.1)));
        }
        self.send(xproto::BUTTON_RELEASE_EVENT, 3, to);
    }
}

fn title_of(connection: &RustConnection, window: Window) -> String {
    let property = connection.get_property(false, window, AtomEnum::WM_NAME, AtomEnum::ANY, 0, 1000).unwrap();
    property.reply().map(|name| String::from_utf8_lossy(&name.value).into_owned()).unwrap_or_default()
}

#[test]
fn a_window_opens_follows_a_drag_and_closes() {
    const SPACE: u32 = 0x20;
    const ESCAPE: u32 = 0xff1b;
    let Some((_server, display)) = server() else { return };
    let mut command = program(&["--window", "--device", "cpu", "--grid", "24", "--height", "300"]);
    let mut program = Running(command.env("DISPLAY", &display).stdout(Stdio::piped()).spawn().unwrap());
    let seen = Seen::find(&display);
    seen.send(xproto::MOTION_NOTIFY_EVENT, 0, (200, 150));

    // The shapes deform until they are stopped. The first picture may be taken between title and
    // frame, so both must change.
    let first = (seen.title(), seen.pixels());
    wait_for("another frame", || {
        let now = (seen.title(), seen.pixels());
        (now.0 != first.0 && now.1 != first.1).then_some(())
    });
    seen.press(SPACE);
    let still = wait_for("standing still", || {
        let before = (seen.title(), seen.pixels());
        std::thread::sleep(Duration::from_millis(500));
        (before == (seen.title(), seen.pixels())).then_some(before)
    });
    seen.drag((200, 150), (260, 110));
    let (title, pixels) = wait_for("the drag to show", || {
        let now = (seen.title(), seen.pixels());
        (now.0 != still.0 && now.1 != still.1).then_some(now)
    });
    assert!(title.contains("in common") && pixels.len() == still.1.len());

    seen.press(ESCAPE);
    let status = wait_for("the end", || program.0.try_wait().unwrap());
    let mut printed = String::new();
    std::io::Read::read_to_string(&mut program.0.stdout.take().unwrap(), &mut printed).unwrap();
    assert!(status.success(), "{status}");
    assert!(printed.contains("frames/s") && printed.contains("inside"), "{printed}");
}

#[test]
fn without_a_display_it_says_what_to_do() {
    for display in ["", ":9999"] {
        let mut command = program(&["--window", "--device", "cpu", "--grid", "8"]);
        let output = command.env("DISPLAY", display).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success());
        assert!(text.contains("window") && text.contains("xvfb-run") && text.contains("--window"), "{text}");
        assert!(!text.contains("panicked"), "{text}");
    }
}
