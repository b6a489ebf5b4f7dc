package inspect

// Findings is the error of a look that found something (check, diff); main
// exits 1 and prints nothing more, for the findings have been printed.
type Findings struct{ Count int }

func (Findings) Error() string { return "findings or differences" }
