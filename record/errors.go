package record

// Failure is the proxy's own failure to start or run an agent. Status is the
// exit status that main leaves with: 125 our own failure, 126 the agent is not
// executable, 127 the agent was not found.
type Failure struct {
	Status int
	Err    error
}

func (f Failure) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f Failure) Unwrap() error { return f.Err }
