package inspect

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"agentrec/internal/transcript"
	"agentrec/store"
)

// spanner makes the spans of one session: the session, within it its turns,
// within those the LLM exchanges and the tool calls.
type spanner struct {
	otlpBatch
	t       *transcript.Transcript
	content bool // what was said, too
	turns   map[int64]int
}

// exportSpans sends the spans of a session.
func exportSpans(ctx context.Context, s *store.Session, o exportOptions, send func(context.Context, []byte) error) error {
	d, err := transcript.DialectOf(ctx, s, o.Dialect)
	if err != nil {
		return err
	}
	t, err := transcript.Open(ctx, s, d)
	if err != nil {
		return err
	}
	sp := &spanner{otlpBatch: otlpBatch{ctx: ctx, session: s, send: send}, t: t, content: o.Content, turns: map[int64]int{}}
	sp.resource.text("service.name", sp.agent())
	sp.resource.text("service.version", sp.agentVersion())
	sp.resource.text("host.name", s.Host)
	sp.resource.texts("process.command_args", s.Argv)
	if err := sp.add(sp.whole()); err != nil {
		return err
	}
	texts, err := sp.texts()
	if err != nil {
		return err
	}
	for i := range t.Turns {
		if err := sp.add(sp.turn(i, texts[i])); err != nil {
			return err
		}
	}
	for i, it := range t.Items() {
		switch {
		case it.Exchange != nil:
			sp.turns[it.Exchange.Number] = it.Turn
		case it.Kind == transcript.KindCall:
			span, err := sp.call(i, it)
			if err == nil {
				err = sp.add(span)
			}
			if err != nil {
				return err
			}
		}
	}
	for x, err := range s.Exchanges(ctx) {
		if err != nil {
			return fmt.Errorf("reading the exchanges of session %d: %w", s.ID, err)
		}
		if err := sp.add(sp.exchange(&x)); err != nil {
			return err
		}
	}
	return sp.flush()
}

// span begins a span of the session's trace.
func (sp *spanner) span(id, parent, name string, kind int, start, end time.Duration) otlpSpan {
	return otlpSpan{
		TraceID: traceID(sp.session), SpanID: id, ParentID: parent, Name: strings.ToValidUTF8(name, "\ufffd"), Kind: kind,
		Start: nanos(sp.session, start), End: nanos(sp.session, max(start, end)),
	}
}

func (sp *spanner) root() string { return spanID(sp.session, "session", 0) }

// parent is the span that stands around what belongs to a turn.
func (sp *spanner) parent(turn int) string {
	if turn < 0 {
		return sp.root()
	}
	return spanID(sp.session, "turn", int64(turn))
}

// agent is the agent's name: as the protocol says it, else the program's.
func (sp *spanner) agent() string {
	name, version := sp.t.Agent, sp.agentVersion()
	if name = strings.TrimSpace(strings.TrimSuffix(name, version)); name != "" {
		return name
	}
	if len(sp.session.Argv) > 0 {
		return path.Base(strings.ReplaceAll(sp.session.Argv[0], `\`, "/"))
	}
	return "agent"
}

// agentVersion is the last word of what the protocol says of the agent, when it
// begins with a digit.
func (sp *spanner) agentVersion() string {
	words := strings.Fields(sp.t.Agent)
	if len(words) < 2 {
		return ""
	}
	last := words[len(words)-1]
	if c := strings.TrimPrefix(last, "v"); c == "" || c[0] < '0' || c[0] > '9' {
		return ""
	}
	return last
}

// whole is the span of the session.
func (sp *spanner) whole() otlpSpan {
	s := sp.session
	name := s.Name
	if name == "" {
		name = fmt.Sprint(s.ID)
	}
	span := sp.span(sp.root(), "", "session "+name, otlpInternal, 0, sp.t.Duration())
	var a attributes
	a.text("agentrec.session.id", s.UID)
	a.text("agentrec.session.name", s.Name)
	a.text("agentrec.session.state", string(s.State))
	a.text("agentrec.dialect", sp.t.Dialect.Name())
	for _, k := range sortedKeys(s.Tags) {
		a.text("agentrec.tag."+k, s.Tags[k])
	}
	if s.Exit != nil {
		a.int("process.exit.code", int64(s.Exit.Code))
	}
	span.Attributes = a
	if s.State == store.Cut || s.Exit != nil && *s.Exit != (store.Exit{}) {
		span.Status = &otlpStatus{otlpError, strings.ToValidUTF8(transcript.Ended(s), "\ufffd")}
	}
	return span
}

// turn is the span of a turn: one invocation of the agent.
func (sp *spanner) turn(i int, answer string) otlpSpan {
	u := &sp.t.Turns[i]
	span := sp.span(sp.parent(i), sp.root(), "invoke_agent "+sp.agent(), otlpInternal, u.Start, u.End)
	var a attributes
	a.text("gen_ai.operation.name", "invoke_agent")
	a.text("gen_ai.agent.name", sp.agent())
	a.text("gen_ai.agent.version", sp.agentVersion())
	a.text("gen_ai.conversation.id", sp.conversation(u.Conversation))
	a.text("agentrec.session.id", sp.session.UID)
	a.int("agentrec.turn", int64(i+1))
	a.int("agentrec.frame", u.First)
	if u.Usage.Frames > 0 {
		a.int("gen_ai.usage.input_tokens", u.Usage.Input)
		a.int("gen_ai.usage.output_tokens", u.Usage.Output)
	}
	if sp.content {
		a.text("gen_ai.input.messages", messagesJSON([]otlpMessage{{Role: "user", Parts: []otlpPart{{Type: "text", Content: &u.Prompt}}}}))
		if answer != "" {
			a.text("gen_ai.output.messages", messagesJSON([]otlpMessage{{Role: "assistant", Parts: []otlpPart{{Type: "text", Content: &answer}}, Finish: "stop"}}))
		}
	}
	switch {
	case u.Failed:
		a.text("error.type", "turn_failed")
		span.Status = &otlpStatus{otlpError, strings.ToValidUTF8(u.Outcome, "\ufffd")}
	case u.Last == 0:
		a.bool("agentrec.open", true)
	}
	span.Attributes = a
	return span
}

// conversation is the protocol's own id, else the session's.
func (sp *spanner) conversation(name string) string {
	if name != "" {
		return name
	}
	return sp.session.UID
}

// maxSpanText is how much of a text stands in an attribute, in bytes.
const maxSpanText = 256 << 10

// texts returns what the agent answered in each turn, where content is wanted.
func (sp *spanner) texts() ([]string, error) {
	out := make([]string, len(sp.t.Turns))
	if !sp.content {
		return out, nil
	}
	for _, it := range sp.t.Items() {
		if it.Kind != transcript.KindText || it.Turn < 0 || len(out[it.Turn]) > maxSpanText {
			continue
		}
		c, err := sp.t.Content(sp.ctx, it, maxSpanText)
		if err != nil {
			return nil, err
		}
		if out[it.Turn] != "" {
			out[it.Turn] += "\n"
		}
		out[it.Turn] += c.Text
	}
	return out, nil
}

// call is the span of a tool call. Of MCP it is the request to the server, which
// the conventions have take its place.
func (sp *spanner) call(i int, it transcript.Item) (otlpSpan, error) {
	end := sp.t.Duration()
	if it.Took >= 0 {
		end = it.Time + it.Took
	} else if it.Turn >= 0 {
		end = sp.t.Turns[it.Turn].End
	}
	name, kind := "execute_tool "+it.Name, otlpInternal
	var a attributes
	a.text("gen_ai.operation.name", "execute_tool")
	if strings.HasPrefix(sp.t.Dialect.Name(), "mcp") {
		name, kind = "tools/call "+it.Name, otlpClient
		a.text("mcp.method.name", "tools/call")
		a.text("network.transport", "pipe")
		a.text("jsonrpc.request.id", it.ID)
	}
	span := sp.span(spanID(sp.session, "call", int64(i)), sp.parent(it.Turn), name, kind, it.Time, end)
	a.text("gen_ai.tool.name", it.Name)
	a.text("gen_ai.tool.call.id", it.ID)
	a.text("gen_ai.conversation.id", sp.conversation(it.Conversation))
	a.text("agentrec.session.id", sp.session.UID)
	a.int("agentrec.frame", it.Seq)
	switch {
	case it.Failed:
		a.text("error.type", "tool_error")
		span.Status = &otlpStatus{Code: otlpError}
	case it.Took < 0:
		a.bool("agentrec.open", true)
	}
	if sp.content {
		c, err := sp.t.Content(sp.ctx, it, maxSpanText)
		if err != nil {
			return span, err
		}
		a.text("gen_ai.tool.call.arguments", c.Args)
		a.text("gen_ai.tool.call.result", c.Text)
	}
	span.Attributes = a
	return span, nil
}
