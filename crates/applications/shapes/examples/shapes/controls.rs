//! The input of a user by mouse and keys, and the state that it changes.

use minifb::Key;
use warpnest_shapes::animation::Hand;
use warpnest_shapes::picture::BODIES;

/// The state of mouse and keys.
#[derive(Clone, Debug, Default)]
pub struct Input {
    /// The position of the mouse in pixels, if it is in the window.
    pub mouse: Option<[f64; 2]>,
    /// The height of the window in pixels.
    pub height: f64,
    /// Whether the button that turns the chosen shape is held.
    pub turning: bool,
    /// Whether the button that moves the chosen shape is held.
    pub moving: bool,
    /// The arrow keys that are held: right and up count as 1, left and down as -1.
    pub arrows: [f64; 2],
    /// The keys pressed since the last frame.
    pub pressed: Vec<Key>,
}

/// The state that a user controls.
#[derive(Clone, Debug)]
pub struct Controls {
    first_view: [f64; 2],
    view: [f64; 2],
    hands: [Hand; 2],
    shape: usize,
    body: usize,
    time: f64,
    stopped: bool,
    ended: bool,
    /// The last position of the mouse while a button was held.
    held: Option<[f64; 2]>,
}

impl Controls {
    /// Returns the initial state, with the view's yaw and pitch in degrees.
    pub fn new(view: [f64; 2]) -> Self {
        Self {
            first_view: view,
            view,
            hands: [Hand::default(); 2],
            shape: 0,
            body: 0,
            time: 0.0,
            stopped: false,
            ended: false,
            held: None,
        }
    }

    /// Applies the input, and advances the animation by `time`; a time of 1 is the whole animation.
    pub fn apply(&mut self, input: &Input, time: f64) {
        for key in &input.pressed {
            match key {
                Key::Key1 => self.shape = 0,
                Key::Key2 => self.shape = 1,
                Key::U => self.body = 0,
                Key::I => self.body = 1,
                Key::D => self.body = 2,
                Key::Space => self.stopped = !self.stopped,
                Key::R => *self = Self { stopped: self.stopped, ..Self::new(self.first_view) },
                Key::Escape | Key::Q => self.ended = true,
                _ => {}
            }
        }
        if !self.stopped {
            self.time = (self.time + time).fract();
        }
        // A held arrow turns the view by a quarter of a turn per second.
        let degrees = 90.0 * 14.0 * time.min(0.02);
        self.view[0] += degrees * input.arrows[0];
        self.view[1] = (self.view[1] + degrees * input.arrows[1]).clamp(-90.0, 90.0);
        self.drag(input);
    }

    /// Turns or moves the chosen shape by the mouse's movement since the last call.
    fn drag(&mut self, input: &Input) {
        let now = input.mouse.filter(|_| input.turning || input.moving);
        if let (Some(from), Some(to)) = (self.held, now) {
            let way = [0, 1].map(|i| (to[i] - from[i]) / input.height);
            let hand = &mut self.hands[self.shape];
            if input.moving {
                // The shift is to the right and up as the viewer sees it, in halves of the grid.
                let (sin, cos) = self.view[0].to_radians().sin_cos();
                let (tilt_sin, tilt_cos) = self.view[1].to_radians().sin_cos();
                let (right, up) = (2.2 * way[0], -2.2 * way[1]);
                hand.shift.x += cos * right - sin * tilt_sin * up;
                hand.shift.y += tilt_cos * up;
                hand.shift.z += -sin * right - cos * tilt_sin * up;
                hand.shift = hand.shift.clamp_length_max(1.0);
            } else {
                hand.turn.y += 4.0 * way[0];
                hand.turn.x += 4.0 * way[1];
            }
        }
        self.held = now;
    }

    pub fn is_ended(&self) -> bool {
        self.ended
    }

    pub fn time(&self) -> f64 {
        self.time
    }

    pub fn hands(&self) -> &[Hand; 2] {
        &self.hands
    }

    /// Returns the index of the shape that the mouse turns and moves.
    pub fn shape(&self) -> usize {
        self.shape
    }

    /// Returns the index in [`BODIES`] of the body that is shown.
    pub fn body(&self) -> usize {
        self.body % BODIES.len()
    }

    /// Returns the view's yaw and pitch in degrees.
    pub fn view(&self) -> [f64; 2] {
        self.view
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(x: f64, y: f64) -> Input {
        Input { mouse: Some([x, y]), height: 100.0, ..Input::default() }
    }

    fn pressing(keys: &[Key]) -> Input {
        Input { pressed: keys.to_vec(), height: 100.0, ..Input::default() }
    }

    #[test]
    fn a_drag_turns_and_a_right_drag_moves_the_chosen_shape() {
        let mut controls = Controls::new([0.0, 0.0]);
        controls.apply(&at(10.0, 10.0), 0.0);
        assert_eq!(controls.hands(), &[Hand::default(); 2], "no button is held");
        for x in [10.0, 30.0] {
            controls.apply(&Input { turning: true, ..at(x, 10.0) }, 0.0);
        }
        assert!(controls.hands()[0].turn.y > 0.5 && controls.hands()[1] == Hand::default());
        controls.apply(&pressing(&[Key::Key2]), 0.0);
        for y in [50.0, 40.0] {
            controls.apply(&Input { moving: true, ..at(90.0, y) }, 0.0);
        }
        assert!(controls.hands()[1].shift.y > 0.1 && controls.hands()[1].shift.x.abs() < 1e-12);
        // Releasing the button and pressing it elsewhere moves nothing.
        let before = controls.hands()[1];
        controls.apply(&at(0.0, 0.0), 0.0);
        controls.apply(&Input { moving: true, ..at(70.0, 70.0) }, 0.0);
        assert_eq!(controls.hands()[1], before);
        controls.apply(&pressing(&[Key::R]), 0.0);
        assert_eq!(controls.hands(), &[Hand::default(); 2]);
    }

    #[test]
    fn keys_stop_time_turn_the_view_choose_the_body_and_end() {
        let mut controls = Controls::new([10.0, 20.0]);
        controls.apply(&Input::default(), 0.25);
        controls.apply(&pressing(&[Key::Space]), 0.25);
        assert_eq!((controls.time(), controls.body()), (0.25, 0));
        controls.apply(&pressing(&[Key::Space, Key::D]), 0.5);
        assert_eq!((controls.time(), controls.body()), (0.75, 2));
        for _ in 0..100 {
            controls.apply(&Input { arrows: [1.0, 1.0], height: 100.0, ..Input::default() }, 0.01);
        }
        assert!(controls.view()[0] > 100.0 && controls.view()[1] == 90.0);
        assert!((0.0..1.0).contains(&controls.time()) && !controls.is_ended());
        controls.apply(&pressing(&[Key::Escape]), 0.0);
        assert!(controls.is_ended());
    }
}
