package tape

import (
	"time"

	"agentrec/store"
)

// Start is what a tape says first: the session, and what its frames are
// redacted with when another process has to do it. It is sealed like
// everything on the tape.
type Start struct {
	UID        string            `json:"uid"`
	Name       string            `json:"name,omitempty"`
	Tags       map[string]string `json:"tags,omitempty"`
	Started    time.Time         `json:"started"`
	Host       string            `json:"host,omitempty"`
	Cwd        string            `json:"cwd,omitempty"`
	Folders    map[string]string `json:"folders,omitempty"` // as of a store.Session
	Argv       []string          `json:"argv"`
	Version    string            `json:"version,omitempty"`
	Dialect    string            `json:"dialect,omitempty"` // name or file; "" is decided by the first frames
	Parent     string            `json:"parent,omitempty"`  // UID of the session this one was made from
	Unredacted bool              `json:"unredacted,omitempty"`
	Rules      []string          `json:"rules,omitempty"`   // redaction rules of the user
	Environ    []string          `json:"environ,omitempty"` // of the agent
	DotEnv     []byte            `json:"dotenv,omitempty"`
}

// End is how a recording ended, as the recorder knew it.
type End struct {
	Time   time.Duration        `json:"time"`
	Exit   *store.Exit          `json:"exit,omitempty"`
	Wire   [store.Streams]int64 `json:"wire"`             // bytes forwarded
	Lost   [store.Streams]int64 `json:"lost"`             // of these not recorded
	Reason string               `json:"reason,omitempty"` // why they were lost

	LostExchanges int64 `json:"lost_exchanges,omitempty"` // bytes of exchanges forwarded and not recorded
}

// event is a lifecycle event on the tape; its time is the record's stamp.
type event struct {
	Kind   store.EventKind `json:"kind"`
	Stream store.Stream    `json:"stream,omitempty"`
	Signal string          `json:"signal,omitempty"`
	Exit   *store.Exit     `json:"exit,omitempty"`
	Bytes  int64           `json:"bytes,omitempty"`
	Detail string          `json:"detail,omitempty"`
}
