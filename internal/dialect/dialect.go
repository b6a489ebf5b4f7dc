// Package dialect reads the frames of any NDJSON agent protocol by a table. A
// table is data (YAML, see tables/ and schema.json); one engine reads frames by
// it. The package knows single frames only: pairing, turns and lanes are
// derived from its readings by package transcript.
package dialect

import (
	"bytes"
	"embed"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

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
	ShowsCall       Shows = "call"       // a tool call; CallID, Name, Args; with Snapshot it adds to the call of equal CallID
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
	Answers      []string // of a response without id: the Keys it may answer, the first that fits an open request counts
	Key          string   // of a request: what a response without id must name
	Conversation string   // the conversation it names
	Opens        string   // the conversation it introduces
	About        Token    // ID or Handle of the request it speaks of, which travelled on Rule.AboutOf
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

	Handle   Token  // of a request: a token by which other frames speak of it (MCP progressToken)
	Snapshot bool   // Text takes the place of the Text of frames before it with equal Shows and Part; without a Part it ends the run of deltas before it and takes its place, or stands alone
	Agent    string // the agent's name and version, where the frame tells them
	Usage    Usage  // tokens and cost, where the frame tells them

	Members []Reading // of a batch: its members' readings, the first 1024
	Parts   []Reading // of a frame that is split: what each element shows, in the place of what the frame shows; roles and ids are the frame's
	Inner   *Reading  // of a frame that carries another protocol's frame
}

// Usage is what a frame says about tokens and cost.
type Usage struct {
	Input, Output, Cached int64
	Cost                  float64 // in the currency of the provider, mostly USD
	TokensSoFar           bool    // the tokens count everything so far, else only what this frame ends
	CostSoFar             bool    // the cost does
}

// Dialect is a compiled table. Safe for concurrent use.
type Dialect struct {
	name, title, doc, version string

	oneLane, noLanes, textInput, batch bool

	tree    *tree
	scratch sync.Pool // *[]Span, one for each place of the tree
	labels  *interner
	tag     pick
	rules   [2][]*Rule            // by stream, in the table's order
	byTag   [2]map[string][]*Rule // the same, those that fit a value of the tag
	own     places
	refusal *refusal
	signs   []sign
	argv    []string
	clients []Client

	checking sync.Once
	checked  *tree // the places that Check looks at
	wrong    error // why there are none
}

// Name returns the table's name: "phi", "acp", ...
func (d *Dialect) Name() string { return d.name }

// Title returns what the table calls itself for people, in one line.
func (d *Dialect) Title() string { return d.title }

// Doc returns what the table says about the protocol and its versions.
func (d *Dialect) Doc() string { return d.doc }

// Version returns a short hash of the table: derived data is kept by it.
func (d *Dialect) Version() string { return d.version }

// Rules returns the table's rows in the order in which they are tried, those of
// In before those of Out. Neither they nor the slice may be changed.
func (d *Dialect) Rules() []*Rule { return slices.Concat(d.rules[store.In], d.rules[store.Out]) }

// OneLane reports whether all frames of a session share one lane.
func (d *Dialect) OneLane() bool { return d.oneLane }

// HasConversations reports whether lanes go by the conversation that a frame
// names. Where neither OneLane nor this holds, each request has its own lane.
func (d *Dialect) HasConversations() bool { return !d.oneLane && !d.noLanes }

// TextInput reports whether the client's stream is not frames but text up to
// its end (codex exec).
func (d *Dialect) TextInput() bool { return d.textInput }

// Clients returns the clients known to have limits that a replay must respect.
func (d *Dialect) Clients() []Client { return d.clients }

// Pacing returns the least of what the known clients can take: how many frames
// they hold unread and how long a line they read; 0 where no limit is known.
func (d *Dialect) Pacing() (queue, line int) {
	for _, c := range d.clients {
		if c.Queue > 0 && (queue == 0 || c.Queue < queue) {
			queue = c.Queue
		}
		if c.Line > 0 && (line == 0 || c.Line < line) {
			line = c.Line
		}
	}
	return queue, line
}

//go:embed tables/*.yaml
var tables embed.FS

//go:embed schema.json
var schemaText []byte

// Schema returns the JSON Schema of tables, for editors.
func Schema() []byte { return bytes.Clone(schemaText) }

// fallback is the dialect of sessions that speak no other.
const fallback = "ndjson"

// Names lists the built-in dialects.
func Names() []string {
	files, err := tables.ReadDir("tables")
	if err != nil { // the files are part of the program
		return nil
	}
	var out []string
	for _, f := range files {
		out = append(out, strings.TrimSuffix(f.Name(), ".yaml"))
	}
	slices.Sort(out)
	return out
}

// builtin returns a built-in table and its text.
func builtin(name string) (*table, []byte, error) {
	text, err := tables.ReadFile("tables/" + name + ".yaml")
	if err != nil {
		return nil, nil, fmt.Errorf("there is no dialect %q; %s", name, Suggest(name, Names()))
	}
	t, err := quickTable(text)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the table %s: %w", name, err)
	}
	return t, text, nil
}

// Source returns the text of a built-in table.
func Source(name string) ([]byte, error) {
	_, text, err := builtin(name)
	return text, err
}

// compiled keeps the built-in dialects: they never change.
var compiled sync.Map // name to *Dialect

// Builtin returns a built-in dialect.
func Builtin(name string) (*Dialect, error) {
	if d, ok := compiled.Load(name); ok {
		return d.(*Dialect), nil
	}
	t, text, err := builtin(name)
	if err != nil {
		return nil, err
	}
	d, err := compile(t, text, builtin)
	if err != nil {
		return nil, fmt.Errorf("reading the table %s: %w", name, err)
	}
	first, _ := compiled.LoadOrStore(name, d)
	return first.(*Dialect), nil
}

// Parse compiles a table; it may extend a built-in one. The name stands in
// errors.
func Parse(name string, text []byte) (*Dialect, error) {
	t, err := parseTable(text)
	if err == nil {
		var d *Dialect
		if d, err = compile(t, text, builtin); err == nil {
			err = d.checks()
		}
		if err == nil {
			return d, nil
		}
	}
	return nil, fmt.Errorf("reading the table %s: %w", name, err)
}

// Load returns a built-in dialect by name, or reads a table from a file when
// name contains a path separator or ends in .yaml, .yml or .json.
func Load(name string) (*Dialect, error) {
	isFile := strings.ContainsAny(name, "/"+string(os.PathSeparator))
	for _, ext := range []string{".yaml", ".yml", ".json"} {
		isFile = isFile || strings.HasSuffix(name, ext)
	}
	if !isFile {
		return Builtin(name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("reading a table: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxTable+1))
	if err != nil {
		return nil, fmt.Errorf("reading a table: %w", err)
	}
	return Parse(name, text)
}
