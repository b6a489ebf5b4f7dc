package inspect

import (
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"agentrec/internal/dialect"
	"agentrec/internal/llm"
	"agentrec/store"

	"github.com/tidwall/gjson"
)

// exchange is the span of an LLM exchange; of one that is not understood it is
// an HTTP request.
func (sp *spanner) exchange(x *store.Exchange) otlpSpan {
	r := llm.Read(*x)
	turn, ok := sp.turns[x.Number]
	if !ok {
		turn = -1
	}
	operation := spanOperation(x, &r)
	name := x.Method
	if operation != "" {
		name = strings.TrimSpace(operation + " " + r.Model)
	}
	end := x.Ended
	if x.End == "" {
		end = sp.t.Duration()
	}
	span := sp.span(spanID(sp.session, "exchange", x.Number), sp.parent(turn), name, otlpClient, x.Time, end)
	var a attributes
	host, port := spanServer(x.URL)
	if operation != "" {
		a.text("gen_ai.operation.name", operation)
		a.text("gen_ai.provider.name", provider(host, r.Wire))
		a.text("gen_ai.request.model", r.Model)
		conversation := ""
		if turn >= 0 {
			conversation = sp.t.Turns[turn].Conversation
		}
		a.text("gen_ai.conversation.id", sp.conversation(conversation))
		requestAttributes(&a, &r)
		answerAttributes(&a, &r)
	}
	a.text("server.address", host)
	if port > 0 {
		a.int("server.port", port)
	}
	a.text("http.request.method", x.Method)
	a.text("url.full", x.URL)
	if x.Status > 0 {
		a.int("http.response.status_code", int64(x.Status))
	}
	a.text("agentrec.session.id", sp.session.UID)
	a.int("agentrec.exchange.number", x.Number)
	a.int("agentrec.attempt", int64(max(x.Attempt, 1)))
	switch {
	case llm.EndOf(x, &r) == store.Cancelled:
		a.bool("agentrec.cancelled", true)
	case llm.Failed(x) || r.Error != "" || r.ErrorKind != "":
		a.text("error.type", errorType(x, &r))
		message := r.Error
		if x.Error != "" {
			message = x.Error
		}
		span.Status = &otlpStatus{otlpError, strings.ToValidUTF8(message, "\ufffd")}
	case x.End == "":
		a.bool("agentrec.open", true)
	}
	if sp.content && operation != "" {
		contentAttributes(&a, &r)
	}
	span.Attributes = a
	if link, ok := traceParent(x.Header); ok {
		span.Links = []otlpLink{link}
	}
	return span
}

// spanOperation names what an exchange asks for in the words of the
// conventions; "" where they have none.
func spanOperation(x *store.Exchange, r *llm.Reading) string {
	switch {
	case r.Operation == llm.OperationEmbeddings:
		return "embeddings"
	case r.Operation != llm.OperationChat:
		return ""
	case r.Wire == llm.WireGemini:
		return "generate_content"
	case r.Wire == llm.WireChat && !strings.Contains(x.URL, "/chat/completions"):
		return "text_completion"
	}
	return "chat"
}

// errorType is what went wrong in the provider's words, else the status, else
// how the exchange ended.
func errorType(x *store.Exchange, r *llm.Reading) string {
	switch {
	case r.ErrorKind != "":
		return r.ErrorKind
	case x.Status >= 400:
		return strconv.Itoa(x.Status)
	case x.End == store.CutShort || x.End == store.Failed:
		return string(x.End)
	}
	return "_OTHER"
}

func spanServer(address string) (host string, port int64) {
	u, err := url.Parse(address)
	if err != nil {
		return "", 0
	}
	if port, err = strconv.ParseInt(u.Port(), 10, 64); err != nil {
		port = map[string]int64{"https": 443, "http": 80}[u.Scheme]
	}
	return u.Hostname(), port
}

// providers are the names that the conventions know, by the end of the host.
var providers = []struct{ host, name string }{
	{"openai.azure.com", "azure.ai.openai"}, {"services.ai.azure.com", "azure.ai.inference"}, {"openai.com", "openai"}, {"chatgpt.com", "openai"},
	{"anthropic.com", "anthropic"}, {"generativelanguage.googleapis.com", "gcp.gemini"}, {"aiplatform.googleapis.com", "gcp.vertex_ai"},
	{"googleapis.com", "gcp.gen_ai"}, {"amazonaws.com", "aws.bedrock"}, {"deepseek.com", "deepseek"}, {"groq.com", "groq"}, {"x.ai", "x_ai"},
	{"mistral.ai", "mistral_ai"}, {"moonshot.ai", "moonshot_ai"}, {"moonshot.cn", "moonshot_ai"}, {"cohere.com", "cohere"}, {"cohere.ai", "cohere"},
	{"perplexity.ai", "perplexity"}, {"ml.cloud.ibm.com", "ibm.watsonx.ai"}, {"openrouter.ai", "openrouter"},
}

// provider names who was asked: by the host, else whose API it speaks.
func provider(host string, wire llm.Wire) string {
	for _, p := range providers {
		if host == p.host || strings.HasSuffix(host, "."+p.host) {
			return p.name
		}
	}
	switch wire {
	case llm.WireAnthropic:
		return "anthropic"
	case llm.WireGemini:
		return "gcp.gemini"
	case llm.WireOllama:
		return "ollama"
	}
	return "openai"
}

// requestAttributes tells how the model was to sample and answer.
func requestAttributes(a *attributes, r *llm.Reading) {
	seen := map[string]bool{}
	for _, s := range r.Settings {
		v := gjson.Parse(s.Value)
		name, kind := spanSetting(s.Name)
		if name == "" || seen[name] {
			continue
		}
		seen[name] = true
		switch {
		case kind == 'b' && v.IsBool():
			a.bool(name, v.Bool())
		case kind == 'i' && v.Type == gjson.Number:
			a.int(name, v.Int())
		case kind == 'f' && v.Type == gjson.Number:
			a.double(name, v.Float())
		case kind == 's' && v.Type == gjson.String:
			a.text(name, v.String())
		case kind == 'l' && v.Type == gjson.String:
			a.texts(name, []string{v.String()})
		case kind == 'l':
			var list []string
			v.ForEach(func(_, s gjson.Result) bool { list = append(list, s.String()); return len(list) < 100 })
			a.texts(name, list)
		}
	}
}

// spanSetting is the attribute of a setting and its type: bool, int, float,
// string or list.
func spanSetting(name string) (attribute string, kind byte) {
	switch name {
	case "stream":
		return "gen_ai.request.stream", 'b'
	case "temperature":
		return "gen_ai.request.temperature", 'f'
	case "top_p", "topP":
		return "gen_ai.request.top_p", 'f'
	case "top_k", "topK":
		return "gen_ai.request.top_k", 'f'
	case "frequency_penalty", "frequencyPenalty":
		return "gen_ai.request.frequency_penalty", 'f'
	case "presence_penalty", "presencePenalty":
		return "gen_ai.request.presence_penalty", 'f'
	case "max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens", "num_predict":
		return "gen_ai.request.max_tokens", 'i'
	case "seed":
		return "gen_ai.request.seed", 'i'
	case "n", "candidateCount":
		return "gen_ai.request.choice.count", 'i'
	case "stop", "stop_sequences", "stopSequences":
		return "gen_ai.request.stop_sequences", 'l'
	}
	return "", 0
}

func answerAttributes(a *attributes, r *llm.Reading) {
	a.text("gen_ai.response.id", r.ID)
	a.text("gen_ai.response.model", r.AnswerModel)
	if r.Finish != "" {
		a.texts("gen_ai.response.finish_reasons", []string{r.Finish})
	}
	if r.Streamed && r.FirstByte >= 0 {
		a.double("gen_ai.response.time_to_first_chunk", r.FirstByte.Seconds())
	}
	u := r.Usage
	if !u.Known {
		return
	}
	a.int("gen_ai.usage.input_tokens", u.Input)
	a.int("gen_ai.usage.output_tokens", u.Output)
	for _, n := range []struct {
		key string
		n   int64
	}{{"cache_read.input", u.Cached}, {"cache_creation.input", u.CacheWrite}, {"reasoning.output", u.Reasoning}} {
		if n.n > 0 {
			a.int("gen_ai.usage."+n.key+"_tokens", n.n)
		}
	}
}

// otlpMessage and otlpPart are messages in the shape that the conventions give
// to gen_ai.input.messages and gen_ai.output.messages.
type otlpMessage struct {
	Role   string     `json:"role"`
	Parts  []otlpPart `json:"parts"`
	Finish string     `json:"finish_reason,omitempty"`
}

type otlpPart struct {
	Type     string          `json:"type"` // text, reasoning, tool_call, tool_call_response, uri, or a kind of bytes
	Content  *string         `json:"content,omitempty"`
	ID       string          `json:"id,omitempty"`
	Name     string          `json:"name,omitempty"`
	Args     json.RawMessage `json:"arguments,omitempty"`
	Response *string         `json:"response,omitempty"`
	URI      string          `json:"uri,omitempty"`
}

func messagesJSON(v any) string {
	j, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(j)
}

// contentAttributes tells what was said. Bytes stand as their description.
func contentAttributes(a *attributes, r *llm.Reading) {
	var input []otlpMessage
	var system []otlpPart
	for _, m := range r.Messages {
		parts := spanParts(m)
		if m.Role == "system" || m.Role == "developer" {
			system = append(system, parts...)
		} else {
			input = append(input, otlpMessage{Role: m.Role, Parts: parts})
		}
	}
	if len(system) > 0 {
		a.text("gen_ai.system_instructions", messagesJSON(system))
	}
	if len(input) > 0 {
		a.text("gen_ai.input.messages", messagesJSON(input))
	}
	if out := spanParts(dialect.Message{Text: r.Text, Reasoning: r.Thought, Calls: r.Calls}); len(out) > 0 {
		a.text("gen_ai.output.messages", messagesJSON([]otlpMessage{{Role: "assistant", Parts: out, Finish: r.Finish}}))
	}
	if len(r.Tools) > 0 {
		type definition struct {
			Type        string          `json:"type"`
			Name        string          `json:"name"`
			Description string          `json:"description,omitempty"`
			Parameters  json.RawMessage `json:"parameters,omitempty"`
		}
		list := make([]definition, len(r.Tools))
		for i, t := range r.Tools {
			list[i] = definition{"function", t.Name, t.Description, rawJSON(t.Schema)}
		}
		a.text("gen_ai.tool.definitions", messagesJSON(list))
	}
}

func spanParts(m dialect.Message) []otlpPart {
	parts := []otlpPart{}
	if m.Reasoning != "" {
		parts = append(parts, otlpPart{Type: "reasoning", Content: &m.Reasoning})
	}
	switch {
	case m.CallID != "" || m.Tool != "":
		parts = append(parts, otlpPart{Type: "tool_call_response", ID: m.CallID, Response: &m.Text})
	case m.Text != "":
		parts = append(parts, otlpPart{Type: "text", Content: &m.Text})
	}
	for _, p := range m.Parts {
		said := p.String()
		switch {
		case p.Binary != nil:
			parts = append(parts, otlpPart{Type: "text", Content: &said})
		case p.URL != "":
			parts = append(parts, otlpPart{Type: "uri", URI: p.URL})
		}
	}
	for _, c := range m.Calls {
		part := otlpPart{Type: "tool_call", ID: c.ID, Name: c.Name, Args: rawJSON(c.Args)}
		if part.Args == nil && c.Args != "" {
			part.Args, _ = json.Marshal(c.Args)
		}
		parts = append(parts, part)
	}
	return parts
}

// traceParent is the span that the agent itself names in its request (W3C Trace
// Context). It becomes a link: the parent here is the turn.
func traceParent(header []store.Field) (otlpLink, bool) {
	for _, f := range header {
		if !strings.EqualFold(f.Name, "traceparent") {
			continue
		}
		p := strings.Split(f.Value, "-")
		if len(p) < 4 || len(p[1]) != 32 || len(p[2]) != 16 || strings.Trim(p[1], "0") == "" || strings.Trim(p[2], "0") == "" {
			return otlpLink{}, false
		}
		if _, err := hex.DecodeString(p[1] + p[2]); err != nil {
			return otlpLink{}, false
		}
		return otlpLink{strings.ToLower(p[1]), strings.ToLower(p[2])}, true
	}
	return otlpLink{}, false
}
