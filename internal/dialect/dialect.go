// Package dialect reads the frames of any NDJSON agent protocol by a table. A
// table is data (YAML, see tables/ and schema.json); one engine reads frames by
// it. The package knows single frames only: pairing, turns and lanes are
// derived from its readings by package transcript.
package dialect

import (
	"agentrec/store"
)

// Role is what a frame is in its protocol.
type Role uint8

// The roles. Raw is a frame that the protocol does not know: not JSON, or of
// no family of the table.
const (
	Raw Role = iota
	Request
	Response
	Notification
	Cancel
)

// Class is what a client frame may do to the agent's later frames.
type Class uint8

// The classes. Act, the default, may change what comes later; Query has only
// its own response; Free has no effect and never holds anything back.
const (
	Act Class = iota
	Query
	Free
)

// Shows is what a frame is for people: how a conversation view presents it.
type Shows string

// What a frame can show.
const (
	ShowsNothing    Shows = ""
	ShowsPrompt     Shows = "prompt"     // what the user asked; Text
	ShowsText       Shows = "text"       // the agent's answer, whole or a delta; Text
	ShowsThought    Shows = "thought"    // the agent's thinking, whole or a delta; Text
	ShowsCall       Shows = "call"       // a tool call; CallID, Name, Args
	ShowsResult     Shows = "result"     // a tool's result; CallID, Text, Failed
	ShowsPlan       Shows = "plan"       // Text or Args
	ShowsPermission Shows = "permission" // a question to the user; Text
	ShowsAnswer     Shows = "answer"     // the answer to it; Text
	ShowsError      Shows = "error"      // Text
	ShowsEnd        Shows = "end"        // the end of a turn; Text is the outcome
	ShowsGreeting   Shows = "greeting"   // Text names the agent and its version
	ShowsLog        Shows = "log"        // Text
)

// Token is a JSON value as it stands in a frame: 1 and "1" differ. "" is absence.
type Token string

// Reading is what a dialect says about one frame. Strings may share memory
// with the frame.
type Reading struct {
	JSON  bool  // the frame is one valid JSON value
	Rule  *Rule // the table's row, nil for role Raw
	Label string
	Role  Role

	ID           Token    // correlation id
	Handle       Token    // of a request: the token by which other frames speak of it, if not its id
	Answers      []string // of a response: keys it answers by (rule.Answers), see Key
	Key          string   // of a request without id: what its response must name
	Conversation string   // the conversation it names
	Opens        string   // the conversation it introduces
	About        Token    // id or token of the request it speaks of
	Target       Token    // of a cancel: the id of the request it cancels
	Together     string   // frames of equal value form one group
	Ends         bool     // this response ends a turn
	Failed       bool     // it reports a failure

	Shows  Shows
	Text   string // decoded
	Delta  bool   // Text continues the Text of frames before it with equal Shows and Part
	Part   string // what the delta belongs to (a message or content id); may be empty
	CallID string
	Name   string // tool name
	Args   string // raw JSON

	Members []Reading // of a batch: its members' readings
	Inner   *Reading  // of a frame that carries another protocol's frame
}

// Scope is what a cancel aims at.
type Scope uint8

// The scopes of a cancel.
const (
	CancelsNothing      Scope = iota
	CancelsID                 // the request whose id is Reading.Target
	CancelsConversation       // the open turn of the conversation it names
	CancelsOpen               // whatever turn is open
)

// Dialect is a compiled table. Safe for concurrent use.
type Dialect struct{}

// Rule is a row of the table: what holds for every frame of one family.
type Rule struct {
	Family string
	Stream store.Stream // In or Out
	Role   Role
	Class  Class
	First  bool // only the first of a turn counts (phi tool_result)
	Turn   bool // of a request: it begins a turn, and its response ends it

	Cancels  Scope        // of a cancel: what it aims at
	Answered bool         // of a cancel: its target is still answered (ACP, codex, phi; not MCP)
	AboutOf  store.Stream // where the request travelled that Reading.About speaks of
}

// Name returns the table's name: "phi", "acp", ...
func (d *Dialect) Name() string { panic("unwritten") }

// Version returns a short hash of the table: derived data is kept by it.
func (d *Dialect) Version() string { panic("unwritten") }

// Read reads one frame (without terminator). It never panics and never keeps
// raw. Frames of Err are always Raw.
func (d *Dialect) Read(stream store.Stream, raw []byte) Reading { panic("unwritten") }

// OneLane reports whether all frames of a session share one lane.
func (d *Dialect) OneLane() bool { panic("unwritten") }

// Slots returns the values in a frame that are references to requests or
// values minted by one side (REPLAY 6).
func (d *Dialect) Slots(stream store.Stream, raw []byte) []Slot { panic("unwritten") }

// Slot is one place in a frame that holds an id.
type Slot struct {
	Start, End int    // raw[Start:End] is the JSON token
	Namespace  string // "terminal", "request:in", ...
	Ref        bool   // points at a request, else a value
	Mints      bool   // this frame brings the value into being
	ByClient   bool   // minted by the client, else by the agent
}

// Volatile returns the paths of a frame's family whose values differ from run
// to run.
func (d *Dialect) Volatile(stream store.Stream, raw []byte) Paths { panic("unwritten") }

// Secret returns the paths of a frame's family that hold secrets.
func (d *Dialect) Secret(stream store.Stream, raw []byte) Paths { panic("unwritten") }

// Refuse returns the frame a client gets for a request that a replay cannot
// answer, in the protocol's own error shape, nil when it has none.
func (d *Dialect) Refuse(request []byte, message string) []byte { panic("unwritten") }

// Names lists the built-in dialects.
func Names() []string { panic("unwritten") }

// Builtin returns a built-in dialect.
func Builtin(name string) (*Dialect, error) { panic("unwritten") }

// Load returns a built-in dialect by name, or reads a table from a file when
// name contains a path separator or ends in .yaml, .yml or .json.
func Load(name string) (*Dialect, error) { panic("unwritten") }

// Detector decides by the first frames which built-in dialect a session speaks.
type Detector struct{}

// NewDetector returns a detector. argv is the agent's command, only a hint.
func NewDetector(argv []string) *Detector { panic("unwritten") }

// Observe looks at a frame and reports whether the decision has been made.
func (d *Detector) Observe(stream store.Stream, raw []byte) bool { panic("unwritten") }

// Dialect returns the best guess so far; ndjson when nothing speaks for another.
func (d *Detector) Dialect() *Dialect { panic("unwritten") }

// Valid reports whether raw is one JSON value nested at most MaxDepth deep. It
// is the only judge of that in this project: it never overflows the stack.
func Valid(raw []byte) bool { panic("unwritten") }

// MaxDepth is how deep a frame may nest and still count as JSON.
const MaxDepth = 10000
