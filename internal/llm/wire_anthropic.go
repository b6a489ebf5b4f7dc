package llm

import (
	"agentrec/internal/dialect"

	"github.com/tidwall/gjson"
)

// anthropicMessages reads the request of Messages. The results of several calls
// stand in one message of the user there; here each is a message of its own.
func anthropicMessages(v gjson.Result) []dialect.Message {
	var b messageBuilder
	if s := v.Get("system"); s.Exists() && s.Type != gjson.Null {
		b.said("system", s)
	}
	v.Get("messages").ForEach(func(_, m gjson.Result) bool {
		b.split(m, m.Get("content"), func(p gjson.Result) bool {
			if stringOf(p.Get("type")) != "tool_result" {
				return false
			}
			b.part("tool", p.Raw)
			return true
		})
		return b.n < maxMessages
	})
	return b.messages()
}

func (j *joiner) anthropicWhole(v gjson.Result) {
	if j.r.Operation == OperationTokens {
		j.r.Usage = Usage{Known: v.Get("input_tokens").Exists(), Input: tally(v.Get("input_tokens"))}
		return
	}
	j.anthropicHead(v)
	j.anthropicUsage(v.Get("usage"))
	j.r.Finish = firstOf(stringOf(v.Get("stop_reason")), j.r.Finish)
	v.Get("content").ForEach(func(at, block gjson.Result) bool {
		j.anthropicBlock(at.Raw, block)
		return true
	})
}

func (j *joiner) anthropicHead(m gjson.Result) {
	j.r.ID = firstOf(j.r.ID, stringOf(m.Get("id")))
	j.r.AnswerModel = firstOf(j.r.AnswerModel, stringOf(m.Get("model")))
}

// anthropicBlock takes a block of content: whole, or as a stream begins it,
// with an empty text and empty arguments.
func (j *joiner) anthropicBlock(index string, block gjson.Result) {
	switch kind := stringOf(block.Get("type")); kind {
	case "text":
		j.part(index, "", stringOf(block.Get("text")), j.say)
	case "thinking":
		j.part("thought "+index, "", stringOf(block.Get("thinking")), j.think)
	case "tool_use", "server_tool_use", "mcp_tool_use":
		c := j.call(index)
		c.id, c.name = stringOf(block.Get("id")), stringOf(block.Get("name"))
		if in := block.Get("input"); in.Exists() && in.Raw != "{}" {
			c.args.WriteString(in.Raw)
		}
	}
}

func (j *joiner) anthropicEvent(v gjson.Result, name string) {
	index := v.Get("index").Raw
	switch firstOf(stringOf(v.Get("type")), name) {
	case "message_start":
		j.anthropicHead(v.Get("message"))
		j.anthropicUsage(v.Get("message.usage"))
	case "content_block_start":
		j.anthropicBlock(index, v.Get("content_block"))
	case "content_block_delta":
		d := v.Get("delta")
		switch stringOf(d.Get("type")) {
		case "text_delta":
			j.part(index, "", stringOf(d.Get("text")), j.say)
		case "thinking_delta":
			j.part("thought "+index, "", stringOf(d.Get("thinking")), j.think)
		case "input_json_delta":
			j.call(index).args.WriteString(stringOf(d.Get("partial_json")))
		}
	case "message_delta":
		j.r.Finish = firstOf(stringOf(v.Get("delta.stop_reason")), j.r.Finish)
		j.anthropicUsage(v.Get("usage"))
	case "message_stop":
		j.ended = true
	}
}

// anthropicUsage takes usage: the beginning of a stream tells the input, the
// end the output so far. Cached tokens are not among input_tokens there.
func (j *joiner) anthropicUsage(u gjson.Result) {
	if !u.IsObject() {
		return
	}
	now := &j.r.Usage
	now.Known = true
	if in := u.Get("input_tokens"); in.Exists() {
		cached, written := tally(u.Get("cache_read_input_tokens")), tally(u.Get("cache_creation_input_tokens"))
		if all := tally(in) + cached + written; all > 0 {
			now.Input, now.Cached, now.CacheWrite = all, cached, written
		}
	}
	if out := u.Get("output_tokens"); out.Exists() {
		now.Output = tally(out)
	}
}
