package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// frame is any line of the agent; its type says which fields count.
type frame struct {
	Type            string
	ProtocolVersion int    `json:"protocol_version"`
	ServerName      string `json:"server_name"`
	ServerVersion   string `json:"server_version"`
	Event           string `json:"runtimeEventType"`
	Text            string
	Name            string
	CallID          string `json:"call_id"`
	Args            map[string]any
	ToolName        string `json:"tool_name"`
	ArgsJSON        string `json:"args_json"`
	Summary         string
	Outcome         string
	Code            string
	Message         string
	Tools           []struct{ Name string }
	Plan            []struct{ Step, Status string }
}

// conversation is one client's end of the bridge. It is used by one goroutine.
type conversation struct {
	in  *bufio.Reader
	to  io.Writer
	out io.Writer

	label string // of the deltas collected in text
	text  strings.Builder
}

func newConversation(from io.Reader, to, out io.Writer) *conversation {
	return &conversation{in: bufio.NewReader(from), to: to, out: out}
}

// hold goes through the greeting, the registration and every turn.
func (c *conversation) hold(o options) error {
	hello, err := c.read()
	if err != nil {
		return err
	}
	if hello.Type != "hello" || hello.ProtocolVersion != 1 {
		return fmt.Errorf("the agent began with %q, protocol version %d, not with a hello of version 1", hello.Type, hello.ProtocolVersion)
	}
	c.print("hello", hello.ServerName+" "+hello.ServerVersion)

	if _, err := c.request("tool_registered", register{
		Type: "register_tool", Name: "get_weather", Description: "Looks up the weather of a city.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
	}); err != nil {
		return err
	}
	create := createSession{"create_session", o.session}
	if _, err := c.request("session_created", create); err != nil {
		return err
	}
	listed, err := c.request("tools_listed", typed{"list_tools"})
	if err != nil {
		return err
	}
	names := make([]string, len(listed.Tools))
	for i, t := range listed.Tools {
		names[i] = t.Name
	}
	c.print("tools", strings.Join(names, ", "))

	for i, prompt := range o.prompts {
		if o.extra && i == len(o.prompts)-1 {
			create.SessionID += "-again"
			if _, err := c.request("session_created", create); err != nil {
				return err
			}
		}
		if err := c.turn(o, prompt); err != nil {
			return err
		}
	}
	return nil
}

// turn runs one query and returns at its done.
func (c *conversation) turn(o options, query string) error {
	c.print("you", query)
	if err := c.send(newRun(o, query)); err != nil {
		return err
	}
	for {
		f, err := c.read()
		if err != nil {
			return err
		}
		switch f.Type {
		case "event":
			c.event(f)
		case "tool_call":
			if o.skipTool {
				continue
			}
			if err := c.send(toolResult{Type: "tool_result", CallID: f.CallID, Summary: answer(o, f), ControlFlow: "break"}); err != nil {
				return err
			}
		case "done":
			c.print("done", f.Outcome)
			return nil
		default:
			return unexpected("run", f)
		}
	}
}

// answer is what the client's tool says.
func answer(o options, call frame) string {
	city, _ := call.Args["city"].(string)
	switch {
	case o.result != "":
		return o.result
	case call.Name != "get_weather":
		return fmt.Sprintf("Error: unknown tool %q", call.Name)
	case city == "Oslo":
		return "Oslo: 4 °C, light rain"
	}
	return city + ": 21 °C, clear"
}

func (c *conversation) event(f frame) {
	switch f.Event {
	case "textDelta":
		c.collect("agent", f.Text)
	case "thoughtDelta":
		c.collect("thought", f.Text)
	case "toolCallStarted":
		c.print("call", f.ToolName+" "+f.ArgsJSON)
	case "toolCallFinished":
		c.print("result", f.Summary)
	case "planUpdated":
		steps := make([]string, len(f.Plan))
		for i, s := range f.Plan {
			steps[i] = fmt.Sprintf("%s (%s)", s.Step, s.Status)
		}
		c.print("plan", strings.Join(steps, ", "))
	}
}

// request sends v and returns the next frame, which must be of the type want.
func (c *conversation) request(want string, v any) (frame, error) {
	if err := c.send(v); err != nil {
		return frame{}, err
	}
	f, err := c.read()
	if err == nil && f.Type != want {
		err = unexpected(want, f)
	}
	return f, err
}

func unexpected(waiting string, f frame) error {
	if f.Type == "error" {
		return fmt.Errorf("the agent answered with an error: %s: %s", f.Code, f.Message)
	}
	return fmt.Errorf("the agent sent %q while the client waited for %s", f.Type, waiting)
}

func (c *conversation) send(v any) error {
	var line bytes.Buffer
	enc := json.NewEncoder(&line) // which ends with an LF
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	if _, err := c.to.Write(line.Bytes()); err != nil {
		return fmt.Errorf("writing to the agent: %w", err)
	}
	return nil
}

// read returns the next frame; lines may be of any length.
func (c *conversation) read() (frame, error) {
	line, err := c.in.ReadBytes('\n')
	switch {
	case err == io.EOF:
		return frame{}, errors.New("the agent closed its output in mid conversation")
	case err != nil:
		return frame{}, fmt.Errorf("reading from the agent: %w", err)
	}
	var f frame
	if err := json.Unmarshal(line, &f); err != nil {
		return f, fmt.Errorf("the agent sent a line that is no frame: %.80q", line)
	}
	return f, nil
}

// drain reads to the end of the agent's output. Anything there is an error.
func (c *conversation) drain() error {
	rest, err := io.ReadAll(c.in)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("the agent sent more after the last turn: %.80q", rest)
	}
	return err
}

// collect joins deltas of one kind; the next print of anything shows them.
func (c *conversation) collect(label, text string) {
	if label != c.label {
		c.flush()
	}
	c.label = label
	c.text.WriteString(text)
}

func (c *conversation) flush() {
	text := c.text.String()
	c.text.Reset()
	if text != "" {
		c.line(c.label, text)
	}
}

func (c *conversation) print(label, text string) {
	c.flush()
	c.line(label, text)
}

func (c *conversation) line(label, text string) {
	fmt.Fprintf(c.out, "%-8s %s\n", label, strings.ReplaceAll(text, "\n", "\n         "))
}
