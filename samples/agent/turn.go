package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// turn runs one query to its done or error.
func (a *agent) turn(req request) {
	session := ""
	if req.SessionID != nil {
		session = *req.SessionID
	}
	say := func(role, text string) {
		a.history[session] = append(a.history[session], map[string]any{role: map[string]any{"content": text}})
	}
	step := func(step any) {
		a.event("checkpoint", "checkpoint", map[string]any{"step": step, "user_input": req.Query})
	}
	say("User", req.Query)
	step("AfterUserInput")
	step(map[string]any{"BeforeLlm": map[string]any{"messages": a.history[session], "tools": a.sorted()}})

	if a.model != nil {
		a.modelTurn(session, req.Query)
		return
	}
	words := strings.FieldsFunc(req.Query, func(r rune) bool { return strings.ContainsRune(" ,.?!:;", r) })
	if a.mute {
		return
	}
	if holds(words, "fail") {
		a.send(`{"type":"error","code":"TURN_ERROR","message":"the query asked for a failure"}`)
		return
	}
	picked := a.pick(words)
	switch {
	case a.noTools:
		picked = nil
	case a.again:
		picked = append(picked, picked...)
	}
	a.stream("thoughtDelta", fmt.Sprintf("That is %d words for %d of my tools.", len(words), len(picked)))
	if holds(words, "plan") {
		a.event("planUpdated", "objective", req.Query, "explanation", nil, "plan", []any{
			map[string]string{"step": "use the tools", "status": "in_progress"},
			map[string]string{"step": "answer", "status": "pending"},
		})
	}
	if len(picked) > 0 {
		calls := []any{}
		for i, t := range picked {
			calls = append(calls, []any{fmt.Sprintf("pick-%d", i+1), t.Name, quote(t.arguments(req.Query, words))})
		}
		step(map[string]any{"BeforeToolCalls": map[string]any{"tool_calls": calls}})
	}

	answer := a.opening + req.Query
	for _, t := range picked {
		summary, outcome := a.call(t, t.arguments(req.Query, words))
		if outcome != "" {
			a.send(`{"type":"done","seq":%d,"outcome":%s}`, a.seq, quote(outcome))
			return
		}
		say("Tool", summary)
		answer += fmt.Sprintf("\n%s says: %s", t.Name, summary)
	}
	a.stream("textDelta", answer)
	say("Assistant", answer)
	a.event("runFinished")
	a.send(`{"type":"done","seq":%d,"outcome":"completed"}`, a.seq)
}

// call uses one tool. A client's tool is asked for with tool_call, and the
// first tool_result is its answer, whatever its call_id. outcome is set when
// the turn ends here instead.
func (a *agent) call(t tool, args map[string]string) (summary, outcome string) {
	if t.run == nil {
		// Held back to go out with the event below in one write: a client answers
		// the call before it reads the event, and the two would cross.
		a.hold(`{"type":"tool_call","seq":%d,"call_id":"call-%d","name":%s,"args":%s}`, a.seq+1, a.seq+1, quote(t.Name), quote(args))
	}
	a.event("toolCallStarted", "tool_name", t.Name, "args_json", quote(args))
	if t.run != nil {
		summary = t.run(args["text"])
	} else if summary, outcome = a.await(); outcome != "" {
		return summary, outcome
	}
	a.event("toolCallFinished", "tool_name", t.Name, "summary", summary, "denied", false)
	return summary, ""
}

// await swallows what comes until a tool_result, a cancel or the end of input.
func (a *agent) await() (summary, outcome string) {
	for {
		req, err := a.read()
		switch {
		case err == io.EOF:
			return "", "failed"
		case req.Type == "cancel":
			return "", "cancelled"
		case req.Type == "tool_result":
			return req.Summary, ""
		}
	}
}

// stream sends text in deltas of one word each, which join to text again.
func (a *agent) stream(kind, text string) {
	cut := " "
	if a.letters {
		cut = ""
	}
	for _, part := range strings.SplitAfter(text, cut) {
		time.Sleep(a.pace)
		a.event(kind, "text", part)
	}
}

// event sends a runtime event with the given keys and values.
func (a *agent) event(kind string, pairs ...any) {
	a.seq++
	fields := map[string]any{"runtimeEventType": kind, "session_id": map[string]any{"id": a.sessions, "external_id": nil}}
	for i := 0; i < len(pairs); i += 2 {
		fields[pairs[i].(string)] = pairs[i+1]
	}
	a.send(`{"type":"event","seq":%d,%s`, a.seq, quote(fields)[1:])
}
