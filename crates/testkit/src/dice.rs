//! Chance that can be repeated.

/// Small and good enough: a test must not depend on what is drawn, only be able to draw it again.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        // Neighbouring seeds must not give neighbouring numbers; zero would give nothing else.
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        dice.next();
        dice
    }

    /// A number below `sides`.
    pub fn roll(&mut self, sides: usize) -> usize {
        usize::try_from(self.next() % sides.max(1) as u64).expect("less than sides")
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}
