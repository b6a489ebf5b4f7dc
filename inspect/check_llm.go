package inspect

import (
	"context"
	"fmt"

	"agentrec/internal/dialect"
	"agentrec/internal/llm"
	"agentrec/store"
)

// checkLLM says what went wrong between the agent and the model. What a later
// try made good is a note.
func checkLLM(ctx context.Context, l *look, _ *checkOptions, report func(Finding)) error {
	all, err := l.exchanges(ctx)
	if err != nil {
		return err
	}
	for i := range all.list {
		x := &all.list[i]
		tell := func(rule string, level Level, text string) {
			host, path := x.place()
			report(Finding{Exchange: x.Head.Number, Rule: rule, Level: level, Message: fmt.Sprintf("%s %s%s %s", x.Head.Method, host, path, text)})
		}
		level := LevelWarning
		if all.mended(i) {
			level = LevelNote
		}
		checkExchange(x, level, tell)
		if x.Of > 1 && x.Head.Attempt > 1 {
			tell("retry", LevelNote, fmt.Sprintf("is try %d of %d of the same request", x.Head.Attempt, x.Of))
		}
	}
	return nil
}

// checkExchange reports what is wrong with one exchange; level is that of a
// failure.
func checkExchange(x *exchange, level Level, tell func(rule string, level Level, text string)) {
	h, r := &x.Head, &x.Told
	switch {
	case h.End == "": // still going on
		return
	case h.End == store.Failed:
		tell("no_answer", level, "got no answer: "+h.Error)
		return
	case h.Status >= 400:
		tell("status", level, fmt.Sprintf("was answered %d: %s", h.Status, oneLine(errorText(r))))
		return
	case x.cancelled():
		tell("cancelled", LevelNote, "was cancelled by the agent")
	case h.End == store.CutShort:
		tell("cut", level, "was cut off in its answer: "+h.Error)
	case r.Error != "" || r.ErrorKind != "":
		tell("stream_error", level, "was answered with an error in the stream: "+oneLine(errorText(r)))
	case r.Unfinished:
		tell("no_end", level, "was answered by a stream without its end ("+streamEnd[r.Wire]+")")
	case r.CutAnswer:
		tell("not_json", level, "was answered with JSON that is not whole")
	}
	if h.End != store.Done {
		return
	}
	for _, c := range r.Calls {
		if c.Args != "" && len(c.Args) < keptAnswer && !dialect.Valid([]byte(c.Args)) {
			tell("call_arguments", LevelWarning, "was answered with a call of "+dash(c.Name)+" whose arguments are no JSON")
		}
	}
	if h.Omitted > 0 {
		tell("omitted", LevelWarning, "is not whole: "+size(h.Omitted)+" were too much to keep")
	}
}

// streamEnd is what ends a stream on each wire.
var streamEnd = map[llm.Wire]string{
	llm.WireChat: "data: [DONE]", llm.WireResponses: "response.completed, .incomplete or .failed", llm.WireAnthropic: "message_stop",
	llm.WireGemini: "a finishReason", llm.WireOllama: `a line with "done": true`,
}

// mended reports whether a later try of the request of exchange i went well.
func (e *exchanges) mended(i int) bool {
	for next := e.list[i].Next; next > 0; next = e.list[next].Next {
		if e.list[next].Head.End != "" && !e.list[next].failed() {
			return true
		}
	}
	return false
}
