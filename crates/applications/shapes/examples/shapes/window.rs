//! The window, in which a user drags and turns one shape while both shapes keep deforming.

use std::{cell::RefCell, io::Write, rc::Rc, time::Instant};

use anyhow::{Context, ensure};
use minifb::{InputCallback, Key, MouseButton, MouseMode, Window, WindowOptions};
use warpnest_shapes::lettering::Lettering;
use warpnest_shapes::picture::{self, BODIES};
use warpnest_shapes::{Frame, STAGES, Scene};

use super::controls::{Controls, Input};
use super::models::Model;
use super::report::{self, Times};
use super::{Arguments, drawn_shapes};

/// The duration of the animation, in seconds.
const SECONDS: f64 = 14.0;

/// The number of latest frames whose medians are printed at the end.
const LATEST: usize = 500;

/// The help text about keys, for the lowest line of the window.
const HELP: &str = "drag: turn   right drag or shift: move   1 2: which shape   U I D: body   arrows: view   \
    space: stop and go   R: as at first   Esc: end";

/// Shows the shapes in a window until it is closed.
pub fn show(arguments: &Arguments, models: &[Model; 2], scene: &mut Scene, out: &mut impl Write) -> anyhow::Result<()> {
    let mut size = (4 * arguments.height as usize / 3, arguments.height as usize);
    let options = WindowOptions { resize: true, ..WindowOptions::default() };
    ensure!(
        cfg!(not(target_os = "linux")) || std::env::var_os("DISPLAY").is_some_and(|display| !display.is_empty()),
        "there is no display to open a window on (DISPLAY is not set): run this on a desktop, or under xvfb-run; \
         without --window the pictures go to files"
    );
    let mut window = Window::new("shapes", size.0, size.1, options).context(
        "no window can be opened: run this on a desktop with an X server, or under xvfb-run; without --window the \
         pictures go to files",
    )?;
    let pressed = Rc::new(RefCell::new(Vec::new()));
    window.set_input_callback(Box::new(Presses(pressed.clone())));
    let lettering = Lettering::new()?;
    let mut controls = Controls::new(arguments.view);
    let mut times = Times::default();
    let mut last = Instant::now();
    while window.is_open() && !controls.is_ended() {
        let now = Instant::now();
        let seconds = now.duration_since(last).as_secs_f64();
        last = now;
        controls.apply(&input(&window, pressed.take()), seconds / SECONDS);

        let side = arguments.grid;
        let motions = arguments.motions(controls.time(), side, controls.hands());
        let frame = scene.frame(&motions)?;
        let mut pixels = drawn_shapes(models, scene, &motions, |shapes| {
            picture::draw(shapes, BODIES[controls.body()], side, controls.view(), size)
        })?;
        let title = format!("shapes: {}", report::caption(&frame));
        let letters = (size.1 as u32 / 32).clamp(8, 22);
        for (line, text) in lines(&frame, &controls, models, 1e3 * seconds).iter().enumerate() {
            let at = (letters as i32, (line as i32 + 1) * letters as i32 * 5 / 4);
            lettering.write(&mut pixels, size, text, at, letters)?;
        }
        let at = (letters as i32, size.1 as i32 - 2 * letters as i32);
        lettering.write(&mut pixels, size, HELP, at, letters * 3 / 4)?;
        let words: Vec<u32> =
            pixels.chunks_exact(3).map(|rgb| u32::from_be_bytes([0, rgb[0], rgb[1], rgb[2]])).collect();
        window.set_title(&title);
        window.update_with_buffer(&words, size.0, size.1).context("the window cannot be drawn to")?;
        times.add(frame);
        times.keep_latest(LATEST);
        let (width, height) = window.get_size();
        // A window can be resized to nothing.
        size = (width.max(64), height.max(64));
    }
    report::print(arguments.grid, false, models, scene.open_edges(), &times, out)?;
    Ok(())
}

/// The keys that go down, recorded by a callback. A query of the window would only return keys that
/// are still down two frames later.
struct Presses(Rc<RefCell<Vec<Key>>>);

impl InputCallback for Presses {
    fn add_char(&mut self, _: u32) {}

    fn set_key_state(&mut self, key: Key, down: bool) {
        if down {
            self.0.borrow_mut().push(key);
        }
    }
}

/// Returns the current input by mouse and keys.
fn input(window: &Window, pressed: Vec<Key>) -> Input {
    let shift = window.is_key_down(Key::LeftShift) || window.is_key_down(Key::RightShift);
    let (left, right) = (window.get_mouse_down(MouseButton::Left), window.get_mouse_down(MouseButton::Right));
    let arrow = |less, more| f64::from(i8::from(window.is_key_down(more)) - i8::from(window.is_key_down(less)));
    Input {
        mouse: window.get_mouse_pos(MouseMode::Pass).map(|(x, y)| [f64::from(x), f64::from(y)]),
        height: window.get_size().1.max(1) as f64,
        turning: left && !shift,
        moving: right || (left && shift),
        arrows: [arrow(Key::Left, Key::Right), arrow(Key::Down, Key::Up)],
        pressed,
    }
}

/// Returns the lines of text for a frame.
fn lines(frame: &Frame, controls: &Controls, models: &[Model; 2], milliseconds: f64) -> Vec<String> {
    let shape = controls.shape();
    let of_shape = |i: usize| {
        let counts = frame.counts[i];
        let inside = counts.inside.map_or("not defined".to_owned(), |inside| report::grouped(inside as f64));
        let chosen = if i == shape { "  <" } else { "" };
        let (name, voxels) = (&models[i].name, report::grouped(counts.voxels as f64));
        format!("{} {name}: {voxels} voxels, inside {inside}{chosen}", ["A", "B"][i])
    };
    let stages = STAGES.iter().zip(frame.milliseconds).map(|(name, time)| format!("{name} {time:.2}"));
    let all: f64 = frame.milliseconds.iter().sum();
    vec![
        format!("{}, {} in common", BODIES[controls.body()].name(), report::grouped(frame.counts[0].common as f64)),
        of_shape(0),
        of_shape(1),
        format!("{} ms: {all:.2}", stages.collect::<Vec<_>>().join("  ")),
        format!("{milliseconds:.0} ms with the picture"),
    ]
}
