//! The terminal while `top` has it: as it was before, however `top` ends.

use std::io::{Stdout, Write, stdout};

use anyhow::Context;
use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers, read};
use crossterm::style::{Attribute, Color, Print, SetAttribute, SetForegroundColor};
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode, size,
};
use crossterm::{execute, queue};
use tokio::sync::mpsc;

use super::frame::{Frame, Line, Shown, Tone};

/// What somebody at the terminal wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pressed {
    Leave,
    Order,
    /// The terminal has another size.
    Redraw,
}

/// Given back when it is dropped.
pub struct Screen {
    output: Stdout,
    keys: mpsc::Receiver<Pressed>,
    has_colours: bool,
}

impl Screen {
    /// # Errors
    /// A terminal that does not obey.
    pub fn open() -> anyhow::Result<Screen> {
        enable_raw_mode().context("the terminal")?;
        let (pressed, keys) = mpsc::channel(16);
        let has_colours = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        // From here on dropping it sets things right; so does a panic, whose words would vanish with the screen.
        let mut screen = Screen { output: stdout(), keys, has_colours };
        let told = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back(&mut stdout());
            told(panic);
        }));
        execute!(screen.output, EnterAlternateScreen, Hide).context("the terminal")?;
        std::thread::spawn(move || listen(&pressed));
        Ok(screen)
    }

    /// The next key that means something; a terminal that is gone means to leave.
    pub async fn pressed(&mut self) -> Pressed {
        self.keys.recv().await.unwrap_or(Pressed::Leave)
    }

    pub fn draw(&mut self, shown: &Shown, frame: &Frame<'_>) -> anyhow::Result<()> {
        let (columns, rows) = size().unwrap_or((80, 24));
        let lines = frame.lines(shown, columns.into(), rows.into());
        self.lines(&lines).context("the terminal")
    }

    fn lines(&mut self, lines: &[Line]) -> std::io::Result<()> {
        for (row, line) in (0..).zip(lines) {
            queue!(self.output, MoveTo(0, row))?;
            if self.has_colours {
                match line.tone {
                    Tone::Plain => {}
                    Tone::Head => queue!(self.output, SetAttribute(Attribute::Bold))?,
                    Tone::Yellow => queue!(self.output, SetForegroundColor(Color::Yellow))?,
                    Tone::Red => queue!(self.output, SetForegroundColor(Color::Red))?,
                }
            }
            queue!(self.output, Print(&line.text), SetAttribute(Attribute::Reset), Clear(ClearType::UntilNewLine))?;
        }
        let below = u16::try_from(lines.len()).unwrap_or(u16::MAX);
        // A full screen has nothing below, and its last line must stay.
        if size().is_ok_and(|(_, rows)| below < rows) {
            queue!(self.output, MoveTo(0, below), Clear(ClearType::FromCursorDown))?;
        }
        self.output.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back(&mut self.output);
    }
}

/// May be called twice. A terminal that is gone has nothing to be given.
fn give_back(output: &mut Stdout) {
    let _ = execute!(output, Show, LeaveAlternateScreen);
    let _ = disable_raw_mode();
}

/// Reads keys on a thread of its own, until nobody listens or the terminal is gone.
fn listen(pressed: &mpsc::Sender<Pressed>) {
    while let Ok(event) = read() {
        let meant = match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => match key.code {
                KeyCode::Char('q') | KeyCode::Esc => Some(Pressed::Leave),
                KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Some(Pressed::Leave),
                KeyCode::Char('s') => Some(Pressed::Order),
                _ => None,
            },
            Event::Resize(..) => Some(Pressed::Redraw),
            _ => None,
        };
        if meant.is_some_and(|meant| pressed.blocking_send(meant).is_err()) {
            return;
        }
    }
}
