package llm

import (
	"fmt"

	"agentrec/internal/dialect"

	"github.com/tidwall/gjson"
)

// ollamaMessages reads the request of /api/chat, of /api/generate, or of an
// embedding.
func ollamaMessages(v gjson.Result) []dialect.Message {
	var list []dialect.Message
	if m := v.Get("messages"); m.IsArray() {
		list = dialect.Messages([]byte(m.Raw))
		i := 0
		m.ForEach(func(_, msg gjson.Result) bool {
			if n := len(msg.Get("images").Array()); n > 0 && i < len(list) {
				list[i].Parts = append(list[i].Parts, dialect.Part{Kind: fmt.Sprintf("%d images", n)})
			}
			i++
			return true
		})
		return list
	}
	var b messageBuilder
	if s := v.Get("system"); s.Type == gjson.String {
		b.said("system", s)
	}
	list = b.messages()
	for _, name := range []string{"prompt", "input"} {
		list = append(list, inputMessages(v.Get(name))...)
	}
	return list
}

// ollama takes a whole answer or a line of a stream, which has the same shape.
func (j *joiner) ollama(v gjson.Result) {
	switch j.r.Operation {
	case OperationModels:
		j.models(v)
		return
	case OperationEmbeddings:
		if one := v.Get("embedding"); one.IsArray() {
			j.vector(one)
		}
		v.Get("embeddings").ForEach(func(_, e gjson.Result) bool { j.vector(e); return true })
		j.r.Usage = Usage{Known: v.Get("prompt_eval_count").Exists(), Input: tally(v.Get("prompt_eval_count"))}
		return
	}
	j.r.AnswerModel = firstOf(j.r.AnswerModel, stringOf(v.Get("model")))
	m := v.Get("message")
	j.think(firstOf(stringOf(m.Get("thinking")), stringOf(v.Get("thinking"))))
	j.say(firstOf(stringOf(m.Get("content")), stringOf(v.Get("response"))))
	m.Get("tool_calls").ForEach(func(_, t gjson.Result) bool {
		j.newCall(stringOf(t.Get("id")), stringOf(t.Get("function.name")), argsOf(t.Get("function.arguments")))
		return true
	})
	if v.Get("done").Type != gjson.True {
		return
	}
	j.ended = true
	j.r.Finish = firstOf(stringOf(v.Get("done_reason")), "done")
	j.r.Usage = Usage{
		Known: v.Get("eval_count").Exists() || v.Get("prompt_eval_count").Exists(),
		Input: tally(v.Get("prompt_eval_count")), Output: tally(v.Get("eval_count")),
	}
}
