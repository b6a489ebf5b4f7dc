package llm

import (
	"strings"

	"agentrec/internal/dialect"

	"github.com/tidwall/gjson"
)

// responsesMessages reads the request of Responses: a text, or a list of
// messages, calls, results and thoughts.
func responsesMessages(v gjson.Result) []dialect.Message {
	var b messageBuilder
	if s := v.Get("instructions"); s.Type == gjson.String {
		b.said("system", s)
	}
	input := v.Get("input")
	if input.Type == gjson.String {
		b.said("user", input)
		return b.messages()
	}
	input.ForEach(func(_, item gjson.Result) bool {
		kind := stringOf(item.Get("type"))
		switch {
		case item.Get("role").Exists():
			b.raw(item.Raw)
		case kind == "reasoning":
			b.thought(summaryOf(item))
		case strings.HasSuffix(kind, "_call_output"):
			b.result(firstOf(stringOf(item.Get("call_id")), stringOf(item.Get("id"))), "", item.Get("output"))
		case strings.HasSuffix(kind, "_call"):
			b.called(responsesCall(item))
		default:
			b.part("user", item.Raw)
		}
		return b.n < maxMessages
	})
	return b.messages()
}

// summaryOf returns what an item of reasoning says: its summary and its text.
func summaryOf(item gjson.Result) string {
	var parts []string
	for _, list := range []string{"summary", "content"} {
		item.Get(list).ForEach(func(_, p gjson.Result) bool {
			if s := stringOf(p.Get("text")); s != "" {
				parts = append(parts, s)
			}
			return true
		})
	}
	return strings.Join(parts, "\n")
}

// responsesCall reads an item that is a call: of a function, of a custom tool,
// or of one that the provider runs itself, which is named after its type.
func responsesCall(item gjson.Result) (id, name, args string) {
	id = firstOf(stringOf(item.Get("call_id")), stringOf(item.Get("id")))
	kind := stringOf(item.Get("type"))
	name = firstOf(stringOf(item.Get("name")), strings.TrimSuffix(kind, "_call"))
	for _, member := range []string{"arguments", "input", "action", "code", "queries"} {
		if a := item.Get(member); a.Exists() && a.Type != gjson.Null {
			return id, name, argsOf(a)
		}
	}
	return id, name, ""
}

// responsesEvent takes an event of a stream. Types that say nothing to a reader
// are passed over, unknown ones too.
func (j *joiner) responsesEvent(v gjson.Result, name string) {
	kind := firstOf(stringOf(v.Get("type")), name)
	part := v.Get("output_index").Raw + "/" + v.Get("content_index").Raw + "/" + v.Get("summary_index").Raw
	switch kind {
	case "response.output_text.delta":
		j.part(part, "", stringOf(v.Get("delta")), j.say)
	case "response.output_text.done":
		j.part(part, "done", stringOf(v.Get("text")), j.say)
	case "response.refusal.delta":
		j.add(&j.refusal, stringOf(v.Get("delta")))
	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		j.part("thought "+part, "", stringOf(v.Get("delta")), j.think)
	case "response.reasoning_text.done", "response.reasoning_summary_text.done":
		j.part("thought "+part, "done", stringOf(v.Get("text")), j.think)
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		j.call(v.Get("output_index").Raw).args.WriteString(stringOf(v.Get("delta")))
	case "response.output_item.added", "response.output_item.done":
		item := v.Get("item")
		if !strings.HasSuffix(stringOf(item.Get("type")), "_call") {
			return
		}
		c := j.call(v.Get("output_index").Raw)
		id, name, args := responsesCall(item)
		c.id, c.name = firstOf(c.id, id), firstOf(c.name, name)
		if kind == "response.output_item.done" && args != "" {
			c.args.Reset()
			c.args.WriteString(args)
		}
	case "response.created", "response.in_progress", "response.queued":
		j.responsesHead(v.Get("response"))
	case "response.completed", "response.incomplete", "response.failed":
		j.ended = true
		j.responsesHead(v.Get("response"))
		if j.text.Len()+j.thought.Len()+len(j.calls) == 0 {
			j.responsesOutput(v.Get("response.output"))
		}
	case "error":
		j.r.errorValue(v)
	}
}

// part takes a piece of the text of a part, or all of it at the end: that says
// nothing new where pieces came before. Parts stand on lines of their own.
func (j *joiner) part(key, which, s string, take func(string)) {
	if s == "" || which == "done" && j.texts[key] {
		return
	}
	if !j.texts[key] && len(j.texts) < maxList {
		if j.texts == nil {
			j.texts = map[string]bool{}
		}
		j.texts[key] = true
		if thought := strings.HasPrefix(key, "thought "); thought && j.thought.Len() > 0 || !thought && j.text.Len() > 0 {
			take("\n")
		}
	}
	take(s)
}

func (j *joiner) responsesWhole(v gjson.Result) {
	if j.r.Operation == OperationTokens {
		j.r.Usage = Usage{Known: v.Get("input_tokens").Exists(), Input: tally(v.Get("input_tokens"))}
		return
	}
	j.responsesHead(v)
	j.responsesOutput(v.Get("output"))
}

// responsesHead takes what a response object says besides its output.
func (j *joiner) responsesHead(v gjson.Result) {
	r := j.r
	r.ID = firstOf(r.ID, stringOf(v.Get("id")))
	r.AnswerModel = firstOf(r.AnswerModel, stringOf(v.Get("model")))
	if status := stringOf(v.Get("status")); status != "" {
		r.Finish = status
		if why := stringOf(v.Get("incomplete_details.reason")); why != "" {
			r.Finish = status + ": " + why
		}
	}
	if e := v.Get("error"); e.IsObject() {
		r.errorValue(v)
	}
	if u := v.Get("usage"); u.IsObject() {
		r.Usage = Usage{
			Known: true, Input: tally(u.Get("input_tokens")), Output: tally(u.Get("output_tokens")),
			Cached: tally(u.Get("input_tokens_details.cached_tokens")), Reasoning: tally(u.Get("output_tokens_details.reasoning_tokens")),
		}
	}
}

func (j *joiner) responsesOutput(list gjson.Result) {
	list.ForEach(func(at, item gjson.Result) bool {
		switch kind := stringOf(item.Get("type")); {
		case kind == "reasoning":
			j.part("thought "+at.Raw, "", summaryOf(item), j.think)
		case kind == "message":
			item.Get("content").ForEach(func(n, p gjson.Result) bool {
				j.part(at.Raw+"/"+n.Raw, "", stringOf(p.Get("text")), j.say)
				j.add(&j.refusal, stringOf(p.Get("refusal")))
				return true
			})
		case strings.HasSuffix(kind, "_call"):
			id, name, args := responsesCall(item)
			j.newCall(id, name, args)
		}
		return true
	})
}
