package llm

import (
	"bytes"
	"net/url"
	"strings"
	"time"

	"agentrec/internal/dialect"
	"agentrec/store"

	"github.com/tidwall/gjson"
)

// Wire is the API that an exchange speaks. Its path tells: Ollama serves the
// paths of others beside its own, so host and port say nothing.
type Wire string

// The wires that are understood. Any other exchange is bytes, with WireNone.
const (
	WireNone       Wire = ""
	WireChat       Wire = "openai-chat"        // Chat Completions, and the older Completions
	WireResponses  Wire = "openai-responses"   // Responses
	WireAnthropic  Wire = "anthropic-messages" // Messages
	WireGemini     Wire = "gemini"             // generateContent and its kin, Code Assist too
	WireOllama     Wire = "ollama"             // /api/...
	WireEmbeddings Wire = "embeddings"         // OpenAI's, which many serve
	WireModels     Wire = "models"             // the list of models, or one of them
)

// The operations of a Reading.
const (
	OperationChat       = "chat"
	OperationEmbeddings = "embeddings"
	OperationModels     = "models"
	OperationTokens     = "tokens" // counting them
)

// Reading is what an exchange says, for people. It is derived from the bytes
// and never takes their place: what a wire sends beyond this is not in it.
// Strings may share memory with the exchange.
type Reading struct {
	Wire      Wire
	Operation string

	// Of the request.
	Model    string            // as asked for; where the path and body name none, the answer's
	Messages []dialect.Message // in order, instructions first with role "system"
	Tools    []Tool
	Settings []Setting // how the model is to sample and answer, in the order of the body

	// Of the answer.
	AnswerModel string // as the answer names it
	ID          string // of the answer
	Text        string // the text, joined
	Thought     string // the thinking, joined
	Calls       []dialect.Called
	Choices     int // answers side by side; Text and Calls are of the first
	Finish      string
	Usage       Usage
	Models      []string // of a list of models
	Vectors     int      // of embeddings
	Dimensions  int      // numbers in the first of them

	Error     string // what an error answer, or an error within a stream, says
	ErrorKind string // its type or code in the provider's words

	Streamed   bool // the answer is a stream of events, lines or elements
	Events     int  // of a stream
	Unfinished bool // the stream lacks what ends it on this wire
	CutRequest bool // the request is not whole JSON
	CutAnswer  bool // the answer, or an event of it, is not whole JSON

	FirstByte  time.Duration // from the beginning to the first byte of the answer's body, or to its head where there is no body; -1 without
	FirstToken time.Duration // from the beginning to the first text, thought or call of a stream; -1 where that is not known
	Took       time.Duration // from the beginning to the end; -1 while open
}

// Tool is a tool that a request offers to the model.
type Tool struct {
	Name        string
	Description string
	Schema      string // raw JSON of its parameters
}

// Setting is a member of a request that says how to sample or answer.
type Setting struct {
	Name  string
	Value string // raw JSON
}

// Usage is what an answer says about tokens. Input holds the cached ones too,
// and Output those of reasoning, whatever a wire's own numbers hold.
type Usage struct {
	Known      bool
	Input      int64
	Output     int64
	Cached     int64   // read from the provider's cache
	CacheWrite int64   // written to it
	Reasoning  int64   // thought
	Cost       float64 // where the provider says it, mostly USD; 0 is unknown
}

// Failed reports whether an exchange did not give what was asked for: it got no
// answer, an error, or a part.
func Failed(x *store.Exchange) bool {
	return x.End == store.Failed || x.End == store.CutShort || x.Status >= 400
}

// EndOf returns how an exchange ended for its agent: one that leaves as soon as a
// stream has said that it is over cancels nothing.
func EndOf(x *store.Exchange, r *Reading) store.ExchangeEnd {
	if x.End == store.Cancelled && r.Streamed && !r.Unfinished && r.Finish != "" {
		return store.Done
	}
	return x.End
}

// Read reads an exchange. It never fails: what cannot be read is left out.
func Read(x store.Exchange) Reading {
	r := Reading{FirstByte: -1, FirstToken: -1, Took: -1}
	r.times(&x)
	u, err := url.Parse(x.URL)
	if err != nil {
		return r
	}
	wire, operation, model := wireOf(x.Method, u)
	if wire == WireNone {
		return r
	}
	r.Wire, r.Operation, r.Model = wire, operation, model
	body := unpacked(x.Body, headerValue(x.Header, "content-encoding"))
	request, whole := jsonValue(body)
	r.CutRequest = !whole && len(body) > 0
	r.request(request)
	r.answer(&x)
	if r.Model == "" {
		r.Model = r.AnswerModel
	}
	return r
}

func (r *Reading) times(x *store.Exchange) {
	switch {
	case len(x.Pieces) > 0:
		r.FirstByte = x.Pieces[0].Time - x.Time
	case x.Status > 0:
		r.FirstByte = x.Answered - x.Time
	}
	if x.End != "" {
		r.Took = x.Ended - x.Time
	}
}

// wireOf tells the wire of a request by its path, which may stand below any
// prefix, and what the path says beside it.
func wireOf(method string, u *url.URL) (wire Wire, operation, model string) {
	path := strings.TrimRight(u.Path, "/")
	ends := func(suffixes ...string) bool {
		for _, s := range suffixes {
			if strings.HasSuffix(path, s) {
				return true
			}
		}
		return false
	}
	if model, verb, ok := geminiPath(path); ok {
		return WireGemini, verb, model
	}
	switch {
	case ends("/chat/completions", "/completions"):
		return WireChat, OperationChat, deployment(path)
	case ends("/responses/input_tokens"):
		return WireResponses, OperationTokens, ""
	case ends("/responses", "/responses/compact") || strings.Contains(path, "/responses/resp_"):
		return WireResponses, OperationChat, ""
	case ends("/messages/count_tokens"):
		return WireAnthropic, OperationTokens, ""
	case ends("/messages"):
		return WireAnthropic, OperationChat, ""
	case ends("/api/chat", "/api/generate"):
		return WireOllama, OperationChat, ""
	case ends("/api/embed", "/api/embeddings"):
		return WireOllama, OperationEmbeddings, ""
	case ends("/api/tags", "/api/ps", "/api/show"):
		return WireOllama, OperationModels, ""
	case ends("/embeddings"):
		return WireEmbeddings, OperationEmbeddings, deployment(path)
	case method == "GET" && (ends("/models") || strings.Contains(path, "/v1/models/") || strings.Contains(path, "/v1beta/models/")):
		return WireModels, OperationModels, ""
	}
	return WireNone, "", ""
}

// deployment returns the name in an Azure path, which stands for a model.
func deployment(path string) string {
	_, rest, ok := strings.Cut(path, "/deployments/")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// settingNames are the members of a request that say how to sample or answer.
var settingNames = map[string]bool{
	"temperature": true, "top_p": true, "top_k": true, "topP": true, "topK": true, "max_tokens": true, "max_completion_tokens": true,
	"max_output_tokens": true, "maxOutputTokens": true, "num_predict": true, "seed": true, "stop": true, "stop_sequences": true,
	"stopSequences": true, "frequency_penalty": true, "presence_penalty": true, "frequencyPenalty": true, "presencePenalty": true, "n": true,
	"candidateCount": true, "reasoning": true, "reasoning_effort": true, "thinking": true, "thinkingConfig": true, "think": true,
	"response_format": true, "responseMimeType": true, "format": true, "tool_choice": true, "parallel_tool_calls": true, "stream": true,
	"service_tier": true, "previous_response_id": true, "store": true, "dimensions": true, "encoding_format": true,
}

// request reads the body of the request, one valid JSON value or nothing.
func (r *Reading) request(body []byte) {
	if len(body) == 0 {
		return
	}
	v := gjson.ParseBytes(body)
	if inner := v.Get("request"); r.Wire == WireGemini && inner.IsObject() {
		r.Model = firstOf(r.Model, stringOf(v.Get("model")))
		v = inner
	}
	r.Model = firstOf(stringOf(v.Get("model")), r.Model)
	take := func(key, value gjson.Result) bool {
		if name := key.String(); settingNames[name] && len(r.Settings) < maxList {
			r.Settings = append(r.Settings, Setting{name, value.Raw})
		}
		return true
	}
	v.ForEach(take)
	for _, nested := range []string{"generationConfig", "options"} {
		if n := v.Get(nested); n.IsObject() {
			n.ForEach(take)
		}
	}
	r.tools(v.Get("tools"))
	switch r.Wire {
	case WireChat:
		r.Messages = chatMessages(v)
	case WireResponses:
		r.Messages = responsesMessages(v)
	case WireAnthropic:
		r.Messages = anthropicMessages(v)
	case WireGemini:
		r.Messages = geminiMessages(v)
	case WireOllama:
		r.Messages = ollamaMessages(v)
	case WireEmbeddings:
		r.Messages = inputMessages(v.Get("input"))
	}
}

// Bounds of lists in a reading, far above what providers take.
const (
	maxList  = 1000
	maxCalls = 1000
)

// tools reads the tools that are offered, in the shapes of all wires.
func (r *Reading) tools(list gjson.Result) {
	list.ForEach(func(_, t gjson.Result) bool {
		if d := t.Get("functionDeclarations"); d.IsArray() {
			r.tools(d)
			return len(r.Tools) < maxList
		}
		if f := t.Get("function"); f.IsObject() {
			t = f
		}
		tool := Tool{Name: firstOf(stringOf(t.Get("name")), stringOf(t.Get("type"))), Description: stringOf(t.Get("description"))}
		for _, name := range []string{"parameters", "input_schema", "parametersJsonSchema", "format"} {
			if s := t.Get(name); s.IsObject() && tool.Schema == "" {
				tool.Schema = s.Raw
			}
		}
		if tool.Name != "" {
			r.Tools = append(r.Tools, tool)
		}
		return len(r.Tools) < maxList
	})
}

// answer reads the answer.
func (r *Reading) answer(x *store.Exchange) {
	body := unpacked(AnswerBody(*x), headerValue(x.Answer, "content-encoding"))
	kind := strings.ToLower(headerValue(x.Answer, "content-type"))
	if x.Status >= 400 {
		r.errorBody(body)
		return
	}
	j := joiner{r: r, when: func(end int) time.Duration { return arrival(x, end) }}
	switch {
	case strings.HasPrefix(kind, "text/event-stream") || looksSSE(body):
		r.Streamed = true
		for e := range eventsOf(body) {
			j.event(e)
		}
	case strings.Contains(kind, "ndjson") || r.Wire == WireOllama && bytes.Contains(bytes.TrimSpace(body), []byte("\n")):
		r.Streamed = true
		for e := range linesOf(body) {
			j.event(e)
		}
	default:
		whole, ok := jsonValue(body)
		r.CutAnswer = !ok && len(body) > 0
		if len(whole) == 0 {
			break
		}
		v := gjson.ParseBytes(whole)
		if r.Wire != WireGemini || !v.IsArray() {
			j.whole(v)
			break
		}
		r.Streamed = true
		v.ForEach(func(_, e gjson.Result) bool {
			j.data("", []byte(e.Raw), e.Index+len(e.Raw))
			return true
		})
	}
	j.finish()
	if x.End == store.CutShort || x.End == store.Cancelled {
		r.CutAnswer = r.CutAnswer || !r.Streamed
	}
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// stringOf returns what a JSON string says, "" of any other value.
func stringOf(v gjson.Result) string {
	if v.Type != gjson.String {
		return ""
	}
	return v.String()
}

// headerValue returns the value of the first header line with this name.
func headerValue(list []store.Field, name string) string {
	for _, f := range list {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}
