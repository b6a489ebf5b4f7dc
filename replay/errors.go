package replay

// Divergence is the error of a replay whose live side did what the recording
// does not explain; main exits 3 and prints nothing more, for the report has
// been given.
type Divergence struct{ Count int }

func (Divergence) Error() string { return "the live side diverged from the recording" }
