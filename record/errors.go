package record

import "agentrec/internal/child"

// Failure is the proxy's own failure to start or run an agent; main leaves with
// its Status.
type Failure = child.Failure

const statusOwn = child.StatusOwn
