package llm

import (
	"agentrec/internal/dialect"

	"github.com/tidwall/gjson"
)

// chatMessages reads the request of Chat Completions, or the prompt of the
// older Completions.
func chatMessages(v gjson.Result) []dialect.Message {
	if m := v.Get("messages"); m.IsArray() {
		return dialect.Messages([]byte(m.Raw))
	}
	return inputMessages(v.Get("prompt"))
}

// inputMessages reads a text, or a list of texts, as messages of a user.
func inputMessages(v gjson.Result) []dialect.Message {
	var b messageBuilder
	if v.Type == gjson.String {
		b.said("user", v)
	} else if v.IsArray() {
		v.ForEach(func(_, t gjson.Result) bool {
			if t.Type == gjson.String {
				b.said("user", t)
			}
			return t.Type == gjson.String
		})
	}
	return b.messages()
}

func (j *joiner) chatWhole(v gjson.Result) {
	j.chatHead(v)
	v.Get("choices").ForEach(func(_, c gjson.Result) bool {
		j.chatChoice(c, c.Get("message"))
		return true
	})
}

// chatChunk takes a chunk of a stream. The one with the usage has no choices.
func (j *joiner) chatChunk(v gjson.Result) {
	j.chatHead(v)
	v.Get("choices").ForEach(func(_, c gjson.Result) bool {
		j.chatChoice(c, c.Get("delta"))
		return true
	})
}

func (j *joiner) chatHead(v gjson.Result) {
	j.r.ID = firstOf(j.r.ID, stringOf(v.Get("id")))
	j.r.AnswerModel = firstOf(j.r.AnswerModel, stringOf(v.Get("model")))
	j.chatUsage(v.Get("usage"))
}

func (j *joiner) chatChoice(c, m gjson.Result) {
	index := tally(c.Get("index"))
	j.r.Choices = max(j.r.Choices, int(min(index, maxList))+1)
	if index > 0 {
		return
	}
	j.r.Finish = firstOf(stringOf(c.Get("finish_reason")), j.r.Finish)
	j.say(stringOf(c.Get("text"))) // of Completions
	if content := m.Get("content"); content.IsArray() {
		content.ForEach(func(_, p gjson.Result) bool {
			j.say(stringOf(p.Get("text")))
			return true
		})
	} else {
		j.say(stringOf(content))
	}
	j.think(firstOf(stringOf(m.Get("reasoning_content")), stringOf(m.Get("reasoning"))))
	j.add(&j.refusal, stringOf(m.Get("refusal")))
	n := 0
	m.Get("tool_calls").ForEach(func(_, t gjson.Result) bool {
		key := t.Get("index").Raw
		if key == "" { // some providers leave it out: whole calls, one an element
			key = "at " + string(rune('a'+n%26)) + t.Get("id").Raw
		}
		n++
		call := j.call(key)
		call.id = firstOf(call.id, stringOf(t.Get("id")))
		call.name = firstOf(call.name, firstOf(stringOf(t.Get("function.name")), stringOf(t.Get("custom.name"))))
		if a := t.Get("function.arguments"); a.Exists() {
			call.args.WriteString(argsOf(a))
		}
		call.args.WriteString(stringOf(t.Get("custom.input")))
		return n < maxCalls
	})
	if f := m.Get("function_call"); f.IsObject() { // the older form
		call := j.call("function_call")
		call.name = firstOf(call.name, stringOf(f.Get("name")))
		call.args.WriteString(stringOf(f.Get("arguments")))
	}
}

// chatUsage takes the usage of Chat Completions and embeddings.
func (j *joiner) chatUsage(u gjson.Result) {
	if !u.IsObject() {
		return
	}
	j.r.Usage = Usage{
		Known: true, Input: tally(u.Get("prompt_tokens")), Output: tally(u.Get("completion_tokens")),
		Cached: tally(u.Get("prompt_tokens_details.cached_tokens")), Reasoning: tally(u.Get("completion_tokens_details.reasoning_tokens")),
		Cost: u.Get("cost").Float(),
	}
	if hit := u.Get("prompt_cache_hit_tokens"); hit.Exists() { // DeepSeek
		j.r.Usage.Cached = tally(hit)
	}
}
