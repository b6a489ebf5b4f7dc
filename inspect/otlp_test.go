package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"agentrec/store"
)

// protoNames are the members of the messages of opentelemetry-proto's
// ExportTraceServiceRequest as JSON spells them, by the member that holds them.
var protoNames = map[string]string{
	"":              "resourceSpans",
	"resourceSpans": "resource scopeSpans schemaUrl",
	"resource":      "attributes droppedAttributesCount",
	"scopeSpans":    "scope spans schemaUrl",
	"scope":         "name version attributes droppedAttributesCount",
	"spans":         "traceId spanId traceState parentSpanId flags name kind startTimeUnixNano endTimeUnixNano attributes events links status",
	"attributes":    "key value",
	"value":         "stringValue boolValue intValue doubleValue arrayValue kvlistValue bytesValue",
	"values":        "stringValue boolValue intValue doubleValue arrayValue kvlistValue bytesValue",
	"arrayValue":    "values",
	"links":         "traceId spanId traceState attributes flags",
	"status":        "message code",
}

// protoForm is the form of a member's value where the JSON mapping demands one.
var protoForm = map[string]*regexp.Regexp{
	"traceId": regexp.MustCompile(`^"[0-9a-f]{32}"$`), "spanId": regexp.MustCompile(`^"[0-9a-f]{16}"$`), "parentSpanId": regexp.MustCompile(`^"[0-9a-f]{16}"$`),
	"startTimeUnixNano": regexp.MustCompile(`^"[0-9]+"$`), "endTimeUnixNano": regexp.MustCompile(`^"[0-9]+"$`), "intValue": regexp.MustCompile(`^"-?[0-9]+"$`),
	"kind": regexp.MustCompile(`^[1-5]$`), "code": regexp.MustCompile(`^[0-2]$`), "boolValue": regexp.MustCompile(`^(true|false)$`),
}

// proto demands that JSON is a message of that name.
func proto(t *testing.T, message string, raw json.RawMessage) {
	t.Helper()
	switch raw[0] {
	case '[':
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			t.Fatal(err)
		}
		for _, v := range list {
			proto(t, message, v)
		}
	case '{':
		var object map[string]json.RawMessage
		if err := json.Unmarshal(raw, &object); err != nil {
			t.Fatal(err)
		}
		for name, v := range object {
			if !strings.Contains(" "+protoNames[message]+" ", " "+name+" ") {
				t.Fatalf("%q has no member %q", message, name)
			}
			if form := protoForm[name]; form != nil && !form.Match(v) {
				t.Fatalf("%s is %s", name, v)
			}
			proto(t, name, v)
		}
		if (message == "value" || message == "values") && len(object) != 1 {
			t.Fatalf("a value with %d members: %s", len(object), raw)
		}
	}
}

// flatSpan is a span with its attributes as text.
type flatSpan struct {
	otlpSpan
	attributes map[string]string
}

// spansOf checks requests, one a line, and returns their spans by name in order.
func spansOf(t *testing.T, requests []byte) []flatSpan {
	t.Helper()
	var out []flatSpan
	for l := range bytes.Lines(requests) {
		proto(t, "", l)
		var r otlpRequest
		if err := json.Unmarshal(l, &r); err != nil {
			t.Fatal(err)
		}
		for _, s := range r.ResourceSpans[0].ScopeSpans[0].Spans {
			f := flatSpan{s, map[string]string{}}
			for _, a := range s.Attributes {
				v, err := json.Marshal(a.Value)
				if err != nil {
					t.Fatal(err)
				}
				_, text, _ := strings.Cut(strings.Trim(string(v), "{}"), ":")
				if f.attributes[a.Key] != "" {
					t.Errorf("%s: %s stands there twice", s.Name, a.Key)
				}
				f.attributes[a.Key] = strings.Trim(text, `"`)
			}
			out = append(out, f)
		}
	}
	return out
}

func exportedSpans(t *testing.T, path string, content bool) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := export(t.Context(), exportOptions{File: path, OTLP: "-", Content: content, Out: &b, Err: nothing{}}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestSpans(t *testing.T) {
	list := phiExchanges()
	list[1].Header = append(list[1].Header, store.Field{Name: "traceparent", Value: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"})
	path := recordTold(t, phiSteps, list)
	raw := exportedSpans(t, path, false)
	if again := exportedSpans(t, path, false); !bytes.Equal(raw, again) {
		t.Error("a second export says something else")
	}
	spans := spansOf(t, raw)
	byID := map[string]flatSpan{}
	for _, s := range spans {
		byID[s.SpanID] = s
	}
	var tree []string
	for _, s := range spans {
		tree = append(tree, fmt.Sprintf("%s < %s", s.Name, byID[s.ParentID].Name))
	}
	want := `session told < 
invoke_agent phi-agent < session told
invoke_agent phi-agent < session told
execute_tool get_weather < invoke_agent phi-agent
GET < session told
chat gpt-5 < invoke_agent phi-agent
chat gpt-5 < invoke_agent phi-agent
chat gpt-5 < invoke_agent phi-agent
chat gpt-5 < invoke_agent phi-agent`
	if got := strings.Join(tree, "\n"); got != want {
		t.Errorf("the spans are\n%s\nwant\n%s", got, want)
	}
	if len(byID) != len(spans) {
		t.Error("two spans have one id")
	}
	chat := spans[5]
	for key, want := range map[string]string{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-5", "gen_ai.request.stream": "true", "gen_ai.response.id": "c1",
		"gen_ai.usage.input_tokens": "21", "gen_ai.usage.output_tokens": "5", "gen_ai.usage.cache_read.input_tokens": "16", "gen_ai.response.time_to_first_chunk": "0.00015",
		"server.address": "api.openai.com", "server.port": "443", "http.response.status_code": "200", "agentrec.exchange.number": "2", "gen_ai.input.messages": "",
	} {
		if got := chat.attributes[key]; got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if chat.Kind != otlpClient || chat.Start != "1772600767004500000" || chat.End != "1772600767004800000" || len(chat.Links) != 1 || chat.Links[0].SpanID != "00f067aa0ba902b7" {
		t.Errorf("%+v", chat.otlpSpan)
	}
	refused := spans[6]
	if refused.Status == nil || refused.Status.Code != otlpError || refused.Status.Message != "Slow down" || refused.attributes["error.type"] != "rate_limit_error" {
		t.Errorf("%+v", refused)
	}
	if retry := spans[7]; retry.attributes["agentrec.attempt"] != "2" || retry.Status != nil || byID[retry.ParentID].attributes["agentrec.turn"] != "2" {
		t.Errorf("%+v", retry)
	}
	if call := spans[3]; call.Kind != otlpInternal || call.attributes["gen_ai.tool.call.id"] != "call_1" {
		t.Errorf("%+v", call)
	}
	if strings.Contains(string(raw), "Oslo") || strings.Contains(string(raw), "You tell") {
		t.Error("what was said stands in spans that were not asked for it")
	}
}

func TestSpansWithContent(t *testing.T) {
	spans := spansOf(t, exportedSpans(t, recordTold(t, phiSteps, phiExchanges()), true))
	value := func(i int, key string) string {
		for _, a := range spans[i].Attributes {
			if a.Key == key {
				return *a.Value.String
			}
		}
		return ""
	}
	for _, c := range []struct {
		span      int
		key, want string
	}{
		{2, "gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"It is 4 °C."}],"finish_reason":"stop"}]`},
		{3, "gen_ai.tool.call.arguments", `{"city":"Oslo"}`},
		{3, "gen_ai.tool.call.result", "Oslo: 4 °C"},
		{8, "gen_ai.system_instructions", `[{"type":"text","content":"You tell the weather."}]`},
		{8, "gen_ai.input.messages", `[{"role":"user","parts":[{"type":"text","content":"Say hello"}]},{"role":"assistant","parts":[{"type":"text","content":"Hello, ready."}]},{"role":"user","parts":[{"type":"text","content":"Weather in Oslo?"}]},` +
			`{"role":"assistant","parts":[{"type":"tool_call","id":"call_1","name":"get_weather","arguments":{"city":"Oslo"}}]},{"role":"tool","parts":[{"type":"tool_call_response","id":"call_1","response":"Oslo: 4 °C"}]}]`},
		{7, "gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"tool_call","id":"call_1","name":"get_weather","arguments":{"city":"Oslo"}}],"finish_reason":"tool_calls"}]`},
		{8, "gen_ai.tool.definitions", `[{"type":"function","name":"get_weather","description":"Tells the weather.","parameters":{"type":"object"}}]`},
	} {
		if got := value(c.span, c.key); got != c.want {
			t.Errorf("span %d: %s is\n%s\nwant\n%s", c.span, c.key, got, c.want)
		}
	}
}

// A session of many spans goes out in requests that collectors take.
func TestSpansInBatches(t *testing.T) {
	steps := []step{phiSteps[0], phiSteps[3]}
	for i := range 700 {
		steps = append(steps, step{store.Out, strings.ReplaceAll(phiSteps[9].raw, "call_1", fmt.Sprintf("call_%d", i))}, step{store.In, strings.ReplaceAll(phiSteps[10].raw, "call_1", fmt.Sprintf("call_%d", i))})
	}
	raw := exportedSpans(t, recordTold(t, steps, nil), false)
	if n := bytes.Count(raw, []byte("\n")); n != 2 {
		t.Errorf("%d requests", n)
	}
	if n := len(spansOf(t, raw)); n != 702 {
		t.Errorf("%d spans", n)
	}
}

func TestCollector(t *testing.T) {
	path := recordTold(t, phiSteps, phiExchanges())
	var got []byte
	var said []string
	answers := []func(w http.ResponseWriter){}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = b
		said = append(said, fmt.Sprintf("%s %s %s %s", r.Method, r.URL.Path, r.Header.Get("Content-Type"), r.Header.Get("Authorization")))
		if len(answers) > 0 {
			answers[0](w)
			answers = answers[1:]
		}
	}))
	defer server.Close()
	status := func(code int, header ...string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			for i := 0; i+1 < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(code)
			fmt.Fprint(w, "busy\x1b[2J")
		}
	}
	send := func() error {
		said = nil
		return export(t.Context(), exportOptions{File: path, OTLP: server.URL, Headers: "Authorization=Basic%20YWJj, X-Other=1", Out: nothing{}, Err: nothing{}})
	}
	if err := send(); err != nil {
		t.Fatal(err)
	}
	if s := strings.Join(said, "\n"); s != "POST /v1/traces application/json Basic YWJj" {
		t.Errorf("the collector got %s", s)
	}
	if n := len(spansOf(t, append(got, '\n'))); n != 9 {
		t.Errorf("%d spans", n)
	}
	answers = []func(http.ResponseWriter){status(400)}
	if err := send(); err == nil || !strings.Contains(err.Error(), `400 Bad Request: busy\x1b[2J`) || len(said) != 1 {
		t.Errorf("after %d tries: %v", len(said), err)
	}
	answers = []func(http.ResponseWriter){func(w http.ResponseWriter) {
		fmt.Fprint(w, `{"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}}`)
	}}
	if err := send(); err == nil || !strings.Contains(err.Error(), "rejected 3 spans: too old") {
		t.Error(err)
	}
	c, err := newCollector(server.URL+"/own/path", "")
	if err != nil {
		t.Fatal(err)
	}
	defer c.client.CloseIdleConnections()
	var pauses []time.Duration
	c.wait = func(_ context.Context, d time.Duration) error { pauses = append(pauses, d); return nil }
	said, answers = nil, []func(http.ResponseWriter){status(503), status(429, "Retry-After", "7"), status(502)}
	if err := c.send(t.Context(), []byte("{}")); err != nil || fmt.Sprint(pauses) != "[500ms 7s 1s]" || len(said) != 4 || !strings.HasPrefix(said[3], "POST /own/path") {
		t.Errorf("%v after %v and %d tries", err, pauses, len(said))
	}
	said, answers = nil, []func(http.ResponseWriter){status(503), status(503), status(503), status(503), status(503), status(200)}
	if err := c.send(t.Context(), []byte("{}")); err == nil || len(said) != otlpTries {
		t.Errorf("%v after %d tries", err, len(said))
	}
	if _, err := newCollector("http://", ""); err == nil {
		t.Error("an address without a host is taken")
	}
}

func TestSpansIntoAFile(t *testing.T) {
	path := recordTold(t, phiSteps, phiExchanges())
	file := filepath.Join(t.TempDir(), "spans.json")
	if err := export(t.Context(), exportOptions{File: path, OTLP: file, Out: nothing{}, Err: nothing{}}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b, exportedSpans(t, path, false)) {
		t.Error("the file differs from stdout")
	}
}
