package llm

import (
	"strings"

	"agentrec/internal/dialect"

	"github.com/tidwall/gjson"
)

// geminiVerbs are the methods of a Gemini path and their operations.
var geminiVerbs = map[string]string{
	"generateContent": OperationChat, "streamGenerateContent": OperationChat, "countTokens": OperationTokens,
	"embedContent": OperationEmbeddings, "batchEmbedContents": OperationEmbeddings,
}

// geminiPath reads a path that ends in a method: ".../models/NAME:method", or
// ":method" of Code Assist, which names the model in the body.
func geminiPath(path string) (model, operation string, ok bool) {
	i := strings.LastIndexByte(path, ':')
	if i < 0 {
		return "", "", false
	}
	if operation, ok = geminiVerbs[path[i+1:]]; !ok {
		return "", "", false
	}
	if _, name, in := strings.Cut(path[:i], "/models/"); in {
		model = name
	}
	return model, operation, true
}

// geminiMessages reads contents. Each result of a call is a message of its own.
func geminiMessages(v gjson.Result) []dialect.Message {
	var b messageBuilder
	for _, name := range []string{"systemInstruction", "system_instruction"} {
		if s := v.Get(name + ".parts"); s.IsArray() {
			b.said("system", s)
		}
	}
	contents := v.Get("contents")
	if c := v.Get("content"); c.IsObject() { // of embedContent
		contents = c
	}
	turn := func(_, c gjson.Result) bool {
		b.split(c, c.Get("parts"), func(p gjson.Result) bool {
			if r := p.Get("functionResponse"); r.IsObject() {
				b.result(stringOf(r.Get("id")), stringOf(r.Get("name")), geminiResult(r.Get("response")))
				return true
			}
			if p.Get("thought").Type == gjson.True {
				b.thought(stringOf(p.Get("text")))
				return true
			}
			return false
		})
		return b.n < maxMessages
	}
	if contents.IsObject() {
		turn(gjson.Result{}, contents)
	} else {
		contents.ForEach(turn)
	}
	return b.messages()
}

// geminiResult returns what a function gave: mostly {"output": text}.
func geminiResult(v gjson.Result) gjson.Result {
	for _, name := range []string{"output", "result", "error"} {
		if s := v.Get(name); s.Type == gjson.String {
			return s
		}
	}
	return v
}

// gemini takes a whole answer or an element of a stream, which has the same
// shape. Code Assist wraps it.
func (j *joiner) gemini(v gjson.Result) {
	if inner := v.Get("response"); inner.IsObject() {
		v = inner
	}
	switch j.r.Operation {
	case OperationTokens:
		j.r.Usage = Usage{Known: v.Get("totalTokens").Exists(), Input: tally(v.Get("totalTokens"))}
		return
	case OperationEmbeddings:
		if one := v.Get("embedding"); one.IsObject() {
			j.vector(one.Get("values"))
		}
		j.embeddings(v.Get("embeddings"), "values")
		return
	}
	j.r.ID = firstOf(j.r.ID, stringOf(v.Get("responseId")))
	j.r.AnswerModel = firstOf(j.r.AnswerModel, stringOf(v.Get("modelVersion")))
	if why := stringOf(v.Get("promptFeedback.blockReason")); why != "" {
		j.r.Finish = "blocked: " + why
	}
	v.Get("candidates").ForEach(func(_, c gjson.Result) bool {
		index := tally(c.Get("index"))
		j.r.Choices = max(j.r.Choices, int(min(index, maxList))+1)
		if index > 0 {
			return true
		}
		j.r.Finish = firstOf(stringOf(c.Get("finishReason")), j.r.Finish)
		c.Get("content.parts").ForEach(func(_, p gjson.Result) bool {
			if f := p.Get("functionCall"); f.IsObject() {
				j.newCall(stringOf(f.Get("id")), stringOf(f.Get("name")), f.Get("args").Raw)
			}
			if p.Get("thought").Type == gjson.True {
				j.think(stringOf(p.Get("text")))
			} else {
				j.say(stringOf(p.Get("text")))
			}
			return true
		})
		return true
	})
	if u := v.Get("usageMetadata"); u.IsObject() {
		thought := tally(u.Get("thoughtsTokenCount"))
		j.r.Usage = Usage{
			Known: true, Input: tally(u.Get("promptTokenCount")) + tally(u.Get("toolUsePromptTokenCount")),
			Output: tally(u.Get("candidatesTokenCount")) + thought, Cached: tally(u.Get("cachedContentTokenCount")), Reasoning: thought,
		}
	}
}
