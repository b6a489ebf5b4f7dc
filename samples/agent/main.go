// Command agent is a small agent server that speaks phi's bridge, version 1:
// one JSON object a line on stdin and stdout. It needs no network and no model:
// the words of a query decide what it does, so equal input gives equal output.
// With -model a model decides instead, at OPENAI_BASE_URL.
//
//	count, reverse        uses that tool of its own
//	weather, ...          calls a client's tool whose name holds the word
//	plan                  publishes a plan
//	fail                  ends the turn with an error
//
// The bridge as phi 0.3.0 to 0.12.0 speaks it: a hello unasked, one answer a
// request while idle, events while a run goes on, at its end done or error.
// While a run waits for a tool_result, everything but that and cancel is
// swallowed, as phi does. Unlike phi it leaves with status 0 at end of input,
// whatever it was waiting for, and stays usable after an error. Flags make it
// behave as another version might, to see what a rerun says.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

func main() {
	pace := flag.Duration("pace", 0, "pause between two deltas, such as 20ms")
	log := flag.Bool("log", false, "say on stderr that it is ready")
	var h habits
	flag.StringVar(&h.opening, "answer", "You said: ", "`words` that answers begin with")
	flag.BoolVar(&h.noTools, "no-tools", false, "never use a tool")
	flag.BoolVar(&h.again, "again", false, "call every tool a second time")
	flag.BoolVar(&h.letters, "letters", false, "stream letters, not words")
	flag.BoolVar(&h.mute, "mute", false, "say nothing more once a turn has begun")
	flag.Func("moody", "answer otherwise at every second start; `file` remembers", h.moody)
	flag.BoolFunc("model", "ask the model at OPENAI_BASE_URL, with OPENAI_API_KEY", func(string) error {
		h.model = newModel()
		return nil
	})
	flag.Parse() // whatever follows, "serve" for instance, is of no interest
	if *log {
		fmt.Fprintf(os.Stderr, "sample agent: ready with %d tools\n", len(ownTools))
	}
	if err := serve(os.Stdin, os.Stdout, *pace, h); err != nil {
		fmt.Fprintln(os.Stderr, "sample agent:", err)
		os.Exit(1)
	}
}

// request is any line of the client; its type says which fields count.
type request struct {
	Type        string
	Name        string
	Description string
	Parameters  json.RawMessage
	SessionID   *string `json:"session_id"`
	Query       string
	CallID      string `json:"call_id"`
	Summary     string
}

// habits are what a later version of an agent may do otherwise.
type habits struct {
	opening                       string
	noTools, again, letters, mute bool
	model                         *model // nil: the words of a query decide
}

// moody changes the answer when file exists, and makes or removes it.
func (h *habits) moody(file string) error {
	if os.Remove(file) == nil {
		h.opening = "Today I heard: "
		return nil
	}
	return os.WriteFile(file, nil, 0o600)
}

type agent struct {
	habits
	in       *bufio.Reader
	out      io.Writer
	held     []byte // lines for the next write
	err      error  // the first failed write; nothing is written after it
	pace     time.Duration
	seq      int // of the last event in this process
	sessions int
	tools    map[string]tool
	history  map[string][]any // the messages of each conversation
}

// serve answers until in ends. A line that in ends with needs no LF.
func serve(in io.Reader, out io.Writer, pace time.Duration, h habits) error {
	a := &agent{
		habits: h, in: bufio.NewReader(in), out: out, pace: pace,
		tools: map[string]tool{}, history: map[string][]any{},
	}
	for _, t := range ownTools {
		a.tools[t.Name] = t
	}
	a.send(`{"type":"hello","protocol_version":1,"server_name":"sample-agent","server_version":"1.0.0"}`)
	for a.err == nil {
		req, err := a.read()
		if err == io.EOF {
			return a.err
		}
		if err == nil {
			err = a.answer(req)
		}
		if err != nil {
			a.send(`{"type":"error","code":"PARSE_ERROR","message":%s}`, quote(err.Error()))
		}
	}
	return a.err
}

// read returns the next request, passing over empty lines. io.EOF alone means
// that no more come; any other error is about this one line.
func (a *agent) read() (request, error) {
	for {
		line, err := a.in.ReadBytes('\n')
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			if err != nil {
				return request{}, io.EOF
			}
			continue
		}
		var req request
		if json.Unmarshal(line, &req) != nil || req.Type == "" {
			return req, fmt.Errorf("not a request: %.80s", line)
		}
		return req, nil
	}
}

func (a *agent) answer(req request) error {
	switch req.Type {
	case "register_tool":
		if req.Name == "" || len(req.Parameters) == 0 {
			return fmt.Errorf("register_tool needs name, description and parameters")
		}
		a.tools[req.Name] = tool{Name: req.Name, Description: req.Description, Parameters: req.Parameters}
		a.send(`{"type":"tool_registered","name":%s,"ok":true}`, quote(req.Name))
	case "create_session":
		a.sessions++
		a.send(`{"type":"session_created","session_id":%s,"internal_id":%d}`, quote(req.SessionID), a.sessions)
	case "list_tools":
		list := []any{}
		for _, t := range a.sorted() {
			origin := "custom"
			if t.run != nil {
				origin = "builtin"
			}
			list = append(list, map[string]any{"name": t.Name, "description": t.Description, "origin": origin, "version": "unknown", "requirements": []string{}})
		}
		a.send(`{"type":"tools_listed","tools":%s}`, quote(list))
	case "run":
		a.turn(req)
	case "tool_result", "cancel": // nothing waits for them now
	default:
		return fmt.Errorf("unknown type %q", req.Type)
	}
	return nil
}

// send writes one line, and what was held before it, with one write: no part of
// it can be late.
func (a *agent) send(format string, args ...any) {
	a.hold(format, args...)
	if a.err == nil {
		_, a.err = a.out.Write(a.held)
	}
	a.held = a.held[:0]
}

func (a *agent) hold(format string, args ...any) {
	a.held = fmt.Appendf(a.held, format+"\n", args...)
}

// quote returns v as JSON. Everything given to it here can be encoded.
func quote(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
