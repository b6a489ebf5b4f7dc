package llm

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"agentrec/internal/dialect"
	"agentrec/store"

	"github.com/klauspost/compress/zstd"
)

// talk makes an exchange whose answer came in these pieces, 10 ms apart, the
// first 20 ms after the beginning.
func talk(url, request string, pieces ...string) store.Exchange {
	x := store.Exchange{
		Number: 1, Time: time.Second, Method: "POST", URL: url, Body: []byte(request), Status: 200, Answered: time.Second + 15*time.Millisecond,
		Answer: []store.Field{{Name: "content-type", Value: "application/json"}}, End: store.Done,
	}
	if request == "" {
		x.Method = "GET"
	}
	at := time.Second + 10*time.Millisecond
	for _, p := range pieces {
		at += 10 * time.Millisecond
		x.Pieces = append(x.Pieces, store.Piece{Time: at, Bytes: []byte(p)})
		if strings.HasPrefix(p, "data:") || strings.HasPrefix(p, "event:") {
			x.Answer[0].Value = "text/event-stream; charset=utf-8"
		}
	}
	x.Ended = at + time.Millisecond
	return x
}

// told is a reading as a test writes it: one line a thing.
func told(r Reading) string {
	var b strings.Builder
	line := func(name string, v any) {
		if s := fmt.Sprint(v); s != "" && s != "0" && s != "false" && s != "[]" {
			fmt.Fprintf(&b, "%s %s\n", name, strings.ReplaceAll(s, "\n", `\n`))
		}
	}
	line("wire", string(r.Wire)+" "+r.Operation)
	line("model", r.Model)
	for _, m := range r.Messages {
		s := m.Role
		if m.CallID != "" || m.Tool != "" {
			s += " for " + m.CallID + " " + m.Tool
		}
		if m.Failed {
			s += " failed"
		}
		if m.Reasoning != "" {
			s += " thinks " + m.Reasoning
		}
		if m.Text != "" {
			s += ": " + m.Text
		}
		for _, p := range m.Parts {
			if p.Kind != "text" && p.Kind != "input_text" && p.Kind != "output_text" || p.Text == "" {
				s += " " + p.String()
			}
		}
		for _, c := range m.Calls {
			s += fmt.Sprintf(" call %s %s(%s)", c.ID, c.Name, c.Args)
		}
		line("-", s)
	}
	for _, t := range r.Tools {
		line("tool", t.Name+" "+t.Schema)
	}
	for _, s := range r.Settings {
		line("set", s.Name+"="+s.Value)
	}
	line("id", r.ID)
	line("thought", r.Thought)
	line("text", r.Text)
	for _, c := range r.Calls {
		line("call", fmt.Sprintf("%s %s(%s)", c.ID, c.Name, c.Args))
	}
	line("finish", r.Finish)
	if u := r.Usage; u.Known {
		line("usage", fmt.Sprintf("in %d out %d cached %d written %d thought %d cost %g", u.Input, u.Output, u.Cached, u.CacheWrite, u.Reasoning, u.Cost))
	}
	if r.Vectors > 0 {
		line("vectors", fmt.Sprintf("%dx%d", r.Vectors, r.Dimensions))
	}
	line("models", r.Models)
	if r.Error+r.ErrorKind != "" {
		line("error", r.ErrorKind+": "+r.Error)
	}
	line("events", r.Events)
	line("unfinished", r.Unfinished)
	line("cut request", r.CutRequest)
	line("cut answer", r.CutAnswer)
	if r.FirstToken >= 0 {
		line("token", r.FirstToken)
	}
	return b.String()
}

func sse(events ...string) []string {
	var out []string
	for _, e := range events {
		var v struct{ Type string }
		if json.Unmarshal([]byte(e), &v) == nil && v.Type != "" {
			out = append(out, "event: "+v.Type+"\ndata: "+e+"\n\n")
			continue
		}
		out = append(out, "data: "+e+"\n\n")
	}
	return out
}

func TestRead(t *testing.T) {
	for _, c := range []struct {
		name string
		x    store.Exchange
		want string
	}{
		{"chat", talk("https://api.openai.com/v1/chat/completions",
			`{"model":"gpt-5","temperature":0.20,"messages":[{"role":"system","content":"Be short."},{"role":"user","content":[{"type":"text","text":"What is this?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,`+strings.Repeat("iVBORw0K", 100)+`"}}]},`+
				`{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"look","arguments":"{\"at\":\"it\"}"}}]},{"role":"tool","tool_call_id":"call_1","content":"a cat"}],`+
				`"tools":[{"type":"function","function":{"name":"look","description":"Look.","parameters":{"type":"object"}}}]}`,
			`{"id":"chatcmpl-1","object":"chat.completion","model":"gpt-5-2026","choices":[{"index":0,"message":{"role":"assistant","content":"A cat.","reasoning_content":"Looks furry."},"finish_reason":"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":16},"completion_tokens_details":{"reasoning_tokens":2}}}`), `
wire openai-chat chat
model gpt-5
- system: Be short.
- user: What is this? [image/png, 600 B]
- assistant call call_1 look({"at":"it"})
- tool for call_1 look: a cat
tool look {"type":"object"}
set temperature=0.20
id chatcmpl-1
thought Looks furry.
text A cat.
finish stop
usage in 20 out 5 cached 16 written 0 thought 2 cost 0
`},
		{"chat stream with two calls at once, a comment and padding", talk("https://openrouter.ai/api/v1/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":"Go"}]}`,
			"data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}],\"obfuscation\":\"xYz\"}\n\n: OPENROUTER PROCESSING\n\n",
			"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"On\"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"del", "ta\":{\"content\":\" it\"}}]}\n\n",
			`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"one","arguments":"{\"x\""}},{"index":1,"id":"b","function":{"name":"two","arguments":""}}]}}]}`+"\n\n",
			`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{}"}},{"index":0,"function":{"arguments":":1}"}}]}}]}`+"\r\n\r\n",
			`data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`+"\n\n", `data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4,"cost":0.002}}`+"\n\n", "data: [DONE]\n\n"), `
wire openai-chat chat
model m
- user: Go
set stream=true
id c1
text On it
call a one({"x":1})
call b two({})
finish tool_calls
usage in 3 out 4 cached 0 written 0 thought 0 cost 0.002
events 7
token 30ms
`},
		{"chat stream without [DONE], cut within an event", talk("http://h/v1/chat/completions", `{"model":"m"}`,
			"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"}}]}\n\n", "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"lo wor"), `
wire openai-chat chat
model m
text Hello wor
events 2
unfinished true
cut answer true
token 20ms
`},
		{"chat stream with an error in it", talk("http://h/chat/completions", `{"model":"m"}`, sse(`{"choices":[{"index":0,"delta":{"content":"x"}}]}`, `{"error":{"message":"overloaded","type":"server_error","code":502}}`)...), `
wire openai-chat chat
model m
text x
error server_error: overloaded
events 2
unfinished true
token 20ms
`},
		{"responses", talk("https://api.openai.com/v1/responses",
			`{"model":"gpt-5","instructions":"Help.","input":[{"role":"user","content":[{"type":"input_text","text":"Weather?"}]},{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Ask."}],"encrypted_content":"gAAA"},`+
				`{"type":"function_call","call_id":"call_1","name":"weather","arguments":"{\"in\":\"Oslo\"}"},{"type":"function_call_output","call_id":"call_1","output":"4 C"}],"tools":[{"type":"function","name":"weather","parameters":{"type":"object"}},{"type":"web_search"}],"store":false}`,
			sse(`{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","model":"gpt-5-x","status":"in_progress"}}`, `{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","summary":[]}}`,
				`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"Cold"}`, `{"type":"response.reasoning_summary_text.done","output_index":0,"summary_index":0,"text":"Cold"}`,
				`{"type":"response.unheard_of","x":[1]}`, `{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"It is "}`, `{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"4."}`,
				`{"type":"response.output_text.done","output_index":1,"content_index":0,"text":"It is 4."}`, `{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","call_id":"call_2","name":"warm","arguments":""}}`,
				`{"type":"response.function_call_arguments.delta","output_index":2,"delta":"{\"by\":"}`, `{"type":"response.function_call_arguments.delta","output_index":2,"delta":"2}"}`,
				`{"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","call_id":"call_2","name":"warm","arguments":"{\"by\":2}"}}`,
				`{"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"It is 4."}]}],"usage":{"input_tokens":9,"output_tokens":8,"input_tokens_details":{"cached_tokens":1},"output_tokens_details":{"reasoning_tokens":5}}}}`)...), `
wire openai-responses chat
model gpt-5
- system: Help.
- user: Weather?
- assistant thinks Ask.
- assistant call call_1 weather({"in":"Oslo"})
- tool for call_1 weather: 4 C
tool weather {"type":"object"}
tool web_search 
set store=false
id resp_1
thought Cold
text It is 4.
call call_2 warm({"by":2})
finish completed
usage in 9 out 8 cached 1 written 0 thought 5 cost 0
events 13
token 40ms
`},
		{"responses, whole and incomplete", talk("https://x.openai.azure.com/openai/v1/responses", `{"input":"Hi"}`,
			`{"id":"resp_2","model":"gpt","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"error":null,"output":[{"type":"message","content":[{"type":"output_text","text":"He"}]},{"type":"web_search_call","id":"ws_1","action":{"query":"q"}}]}`), `
wire openai-responses chat
model gpt
- user: Hi
id resp_2
text He
call ws_1 web_search({"query":"q"})
finish incomplete: max_output_tokens
`},
		{"messages", talk("https://api.anthropic.com/v1/messages?beta=true",
			`{"model":"claude-x","max_tokens":100,"system":[{"type":"text","text":"You help."}],"messages":[{"role":"user","content":"Go"},{"role":"assistant","content":[{"type":"thinking","thinking":"Hm","signature":"s"},{"type":"tool_use","id":"tu1","name":"ls","input":{"d":"."}},{"type":"tool_use","id":"tu2","name":"cat","input":{}}]},`+
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"tu1","content":"a.txt"},{"type":"tool_result","tool_use_id":"tu2","is_error":true,"content":[{"type":"text","text":"no such file"}]},{"type":"text","text":"go on"}]}],"tools":[{"name":"ls","input_schema":{"type":"object"}}]}`,
			sse(`{"type":"message_start","message":{"id":"msg_1","model":"claude-x-1","usage":{"input_tokens":10,"cache_read_input_tokens":90,"cache_creation_input_tokens":5,"output_tokens":1}}}`, `{"type":"ping"}`,
				`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Well"}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"zzz"}}`, `{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Read"}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"ing."}}`, `{"type":"content_block_stop","index":1}`,
				`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"tu3","name":"cat","input":{}}}`, `{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"f\":"}}`, `{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"\"a\"}"}}`,
				`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":42}}`, `{"type":"message_stop"}`)...), `
wire anthropic-messages chat
model claude-x
- system: You help.
- user: Go
- assistant thinks Hm call tu1 ls({"d":"."}) call tu2 cat({})
- tool for tu1 ls: a.txt
- tool for tu2 cat failed: no such file
- user: go on
tool ls {"type":"object"}
set max_tokens=100
id msg_1
thought Well
text Reading.
call tu3 cat({"f":"a"})
finish tool_use
usage in 105 out 42 cached 90 written 5 thought 0 cost 0
events 14
token 50ms
`},
		{"messages, overloaded within the stream", talk("http://h/messages", `{"model":"c","messages":[]}`, sse(`{"type":"message_start","message":{"id":"m"}}`, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)...), `
wire anthropic-messages chat
model c
id m
error overloaded_error: Overloaded
events 2
unfinished true
`},
		{"gemini stream of events", talk("https://generativelanguage.googleapis.com/v1beta/models/gemini-3:streamGenerateContent?alt=sse",
			`{"systemInstruction":{"parts":[{"text":"Sys"}]},"contents":[{"role":"user","parts":[{"text":"Go"},{"inlineData":{"mimeType":"image/png","data":"`+strings.Repeat("iVBORw0K", 100)+`"}}]},{"role":"model","parts":[{"functionCall":{"id":"f1","name":"ls","args":{"d":"."}}}]},{"role":"user","parts":[{"functionResponse":{"id":"f1","name":"ls","response":{"output":"a.txt"}}},{"functionResponse":{"name":"wc","response":{"n":[1]}}}]}],"generationConfig":{"temperature":1,"maxOutputTokens":5},"tools":[{"functionDeclarations":[{"name":"ls","parameters":{"type":"object"}}]}]}`,
			sse(`{"responseId":"r1","modelVersion":"gemini-3-1","candidates":[{"content":{"role":"model","parts":[{"text":"hm","thought":true},{"text":"It "}]}}]}`,
				`{"candidates":[{"content":{"parts":[{"text":"is."},{"functionCall":{"name":"cat","args":{"f":"a"}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":3,"thoughtsTokenCount":2,"cachedContentTokenCount":4}}`)...), `
wire gemini chat
model gemini-3
- system: Sys
- user: Go [image/png, 600 B]
- model call f1 ls({"d":"."})
- tool for f1 ls: a.txt
- tool for  wc: {"n":[1]}
tool ls {"type":"object"}
set temperature=1
set maxOutputTokens=5
id r1
thought hm
text It is.
call  cat({"f":"a"})
finish STOP
usage in 7 out 5 cached 4 written 0 thought 2 cost 0
events 2
token 20ms
`},
		{"gemini stream of one array, cut", talk("https://h/v1beta/models/g:streamGenerateContent", `{"contents":{"parts":[{"text":"Go"}]}}`,
			`[{"candidates":[{"content":{"parts":[{"text":"one "}]}}]}`, "\n,\n", `{"candidates":[{"content":{"parts":[{"text":"tw`), `
wire gemini chat
model g
- user: Go
text one tw
events 2
unfinished true
cut answer true
token 20ms
`},
		{"code assist", talk("https://cloudcode-pa.googleapis.com/v1internal:generateContent", `{"model":"gemini-x","project":"p","request":{"contents":[{"role":"user","parts":[{"text":"Go"}]}]}}`,
			`{"response":{"candidates":[{"content":{"parts":[{"text":"ok"}]},"finishReason":"STOP"}]}}`), `
wire gemini chat
model gemini-x
- user: Go
text ok
finish STOP
`},
		{"ollama stream", talk("http://localhost:11434/api/chat", `{"model":"qwen","messages":[{"role":"user","content":"Go","images":["aaaa"]}],"options":{"seed":1}}`,
			`{"model":"qwen","message":{"role":"assistant","content":"","thinking":"so"},"done":false}`+"\n", `{"model":"qwen","message":{"content":"Hi"},"done":false}`+"\n"+`{"message":{"content":"","tool_calls":[{"function":{"name":"ls","arguments":{"d":"."}}}]},"done":false}`+"\n", `{"done":true,"done_reason":"stop","prompt_eval_count":5,"eval_count":6}`+"\n"), `
wire ollama chat
model qwen
- user: Go [1 images]
set seed=1
thought so
text Hi
call  ls({"d":"."})
finish stop
usage in 5 out 6 cached 0 written 0 thought 0 cost 0
events 4
token 20ms
`},
		{"ollama generate, not streamed", talk("http://localhost:11434/api/generate", `{"model":"q","prompt":"Go","stream":false}`, `{"model":"q","response":"Hi","done":true}`), `
wire ollama chat
model q
- user: Go
set stream=false
text Hi
finish done
`},
		{"embeddings in base64", talk("https://api.openai.com/v1/embeddings", `{"model":"e","input":["a","b"],"encoding_format":"base64"}`,
			`{"object":"list","data":[{"embedding":"AACAPwAAAEAAAEBA"},{"embedding":[1,2,3]}],"model":"e","usage":{"prompt_tokens":2,"total_tokens":2}}`), `
wire embeddings embeddings
model e
- user: a
- user: b
set encoding_format="base64"
usage in 2 out 0 cached 0 written 0 thought 0 cost 0
vectors 2x3
`},
		{"models", talk("https://api.openai.com/v1/models", "", `{"object":"list","data":[{"id":"a"},{"id":"b"}]}`), `
wire models models
models [a b]
`},
		{"an error answer", func() store.Exchange {
			x := talk("https://api.anthropic.com/v1/messages", `{"model":"c"}`, `{"type":"error","error":{"type":"rate_limit_error","message":"Slow down"},"request_id":"r"}`)
			x.Status = 429
			return x
		}(), `
wire anthropic-messages chat
model c
error rate_limit_error: Slow down
`},
		{"an error page", func() store.Exchange {
			x := talk("https://api.openai.com/v1/responses", `{"model":"c"}`, "<html>Bad gateway</html>\n")
			x.Status = 502
			return x
		}(), `
wire openai-responses chat
model c
error : <html>Bad gateway</html>
`},
		{"anything else", talk("https://example.org/v1/telemetry", `{"model":"m","messages":[{"role":"user","content":"x"}]}`, `{"ok":true}`), "\nwire  \n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, want := told(Read(c.x)), c.want[1:]; got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// However a body is cut, what stands before the cut is read.
func TestReadCutBodies(t *testing.T) {
	request := `{"model":"m","messages":[{"role":"user","content":"One \u00e9 \ud83d\ude00 two"},{"role":"user","content":"three"}]}`
	answer := `{"id":"x","choices":[{"message":{"content":"Grüße \"you\" \\ end"}}]}`
	seen := map[string]bool{}
	for n := range len(request) {
		r := Read(talk("http://h/v1/chat/completions", request[:n], answer))
		if r.Text == "" || n > 0 && !r.CutRequest {
			t.Fatalf("cut after %d: %+v", n, r)
		}
		for _, m := range r.Messages {
			seen[m.Text] = true
		}
	}
	for _, part := range []string{"One ", "One é", "One é 😀", "One é 😀 two", "three"} {
		if !seen[part] {
			t.Errorf("%q was never read", part)
		}
	}
	longest := ""
	for n := range len(answer) {
		r := Read(talk("http://h/v1/chat/completions", request, answer[:n]))
		if len(r.Messages) != 2 || n > 0 && !r.CutAnswer {
			t.Fatalf("cut after %d: %+v", n, r)
		}
		if !strings.HasPrefix(r.Text, longest) {
			t.Errorf("cut after %d: %q after %q", n, r.Text, longest)
		}
		longest = r.Text
	}
	if longest != `Grüße "you" \ end` {
		t.Errorf("the longest text is %q", longest)
	}
}

func TestReadCompressed(t *testing.T) {
	plain := strings.Join(sse(`{"choices":[{"index":0,"delta":{"content":"Hello"}}]}`, `{"choices":[{"index":0,"delta":{"content":" there"}}]}`), "") + "data: [DONE]\n\n"
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write([]byte(plain))
	w.Flush() // what is cut behind is lost with the trailer only
	flushed := z.Len()
	w.Close()
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	for name, c := range map[string]struct{ encoding, body string }{
		"gzip": {"gzip", z.String()}, "cut gzip": {"GZIP", z.String()[:flushed]}, "zstd": {"zstd", string(enc.EncodeAll([]byte(plain), nil))},
		"both": {"gzip, zstd", string(enc.EncodeAll(z.Bytes(), nil))}, "a header that lies": {"gzip", plain}, "unknown": {"br", plain},
	} {
		x := talk("http://h/v1/chat/completions", `{"model":"m"}`, c.body)
		x.Answer = append(x.Answer, store.Field{Name: "Content-Encoding", Value: c.encoding})
		x.Answer[0].Value = "text/event-stream"
		if r := Read(x); r.Text != "Hello there" || r.Unfinished {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// FuzzRead holds that no exchange breaks a reading, and that text read from a
// stream does not depend on how its bytes came.
func FuzzRead(f *testing.F) {
	for _, path := range []string{"v1/chat/completions", "v1/responses", "v1/messages", "v1beta/models/g:streamGenerateContent", "api/chat", "v1/embeddings", "v1/models"} {
		f.Add(path, []byte(`{"model":"m","messages":[{"role":"user","content":"x"}],"input":[{"type":"function_call_output","output":[1]}],"contents":[{"parts":[{"functionResponse":{}}]}]}`),
			[]byte("event: message_start\ndata: {\"type\":\"message_start\",\"choices\":[{\"delta\":{\"content\":\"a\",\"tool_calls\":[{}]}}]}\n\ndata: [DONE]\n\n"), "text/event-stream", uint(7))
		f.Add(path, []byte("{"), []byte(`[{"candidates":[{"content":{"parts":[{"text":"a"}]}}]},`), "application/json", uint(1))
		f.Add(path, []byte("\x1f\x8b"), []byte("{\"done\":true}\n{"), "application/x-ndjson", uint(0))
		f.Add(path, []byte(strings.Repeat("[", 20000)), []byte(strings.Repeat(`{"error":`, 5000)), "", uint(3))
	}
	f.Fuzz(func(t *testing.T, path string, request, answer []byte, kind string, at uint) {
		x := talk("http://h/"+path, "x", string(answer))
		x.Body, x.Answer[0].Value = request, kind
		whole := Read(x)
		cut := int(at % uint(len(answer)+1))
		x.Pieces = []store.Piece{{Time: x.Time, Bytes: answer[:cut]}, {Time: x.Time, Bytes: answer[cut:]}}
		parts := Read(x)
		whole.FirstToken, parts.FirstToken, whole.FirstByte, parts.FirstByte = 0, 0, 0, 0
		if a, b := told(whole), told(parts); a != b {
			t.Errorf("in one piece\n%s\nin two\n%s", a, b)
		}
		if n := len(whole.Text) + len(whole.Thought); n > 8*len(answer)+8 && whole.Wire != WireNone && !bytes.HasPrefix(answer, []byte("\x1f\x8b")) {
			t.Errorf("%d bytes of text from %d", n, len(answer))
		}
		for _, s := range whole.Settings {
			if !dialect.Valid([]byte(s.Value)) {
				t.Errorf("a setting that is no JSON: %q", s.Value)
			}
		}
		if v, complete := jsonValue(answer); len(v) > 0 && !dialect.Valid(v) || complete != dialect.Valid(bytes.TrimPrefix(answer, []byte("\xef\xbb\xbf"))) {
			t.Errorf("%q reads as %q", answer, v)
		}
	})
}
