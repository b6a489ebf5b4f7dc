package dialect

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"agentrec/store"
)

// tell renders a message for a comparison.
func tell(m Message) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %q", m.Role, m.Text)
	if m.Reasoning != "" {
		fmt.Fprintf(&b, " thought %q", m.Reasoning)
	}
	for _, p := range m.Parts {
		fmt.Fprintf(&b, " %s:%s", p.Kind, p)
	}
	for _, c := range m.Calls {
		fmt.Fprintf(&b, " calls %s %s %s answered %v", c.ID, c.Name, c.Args, c.Answered)
	}
	if m.CallID != "" {
		fmt.Fprintf(&b, " answers %s %s failed %v", m.CallID, m.Tool, m.Failed)
	}
	return b.String()
}

func TestMessages(t *testing.T) {
	pixel := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("pixel", 400)))
	for _, c := range []struct {
		raw  string
		want []string
	}{
		// the five roles, as OpenAI and its kin write them
		{`{"messages":[{"role":"system","content":"be kind"},{"role":"developer","content":"x"},{"role":"user","content":"Hello"},{"role":"assistant","content":"hi"},{"role":"tool","tool_call_id":"call-1","content":"result data"}]}`,
			[]string{`system "be kind"`, `developer "x"`, `user "Hello"`, `assistant "hi"`, `tool "result data" answers call-1  failed false`}},
		// tool calls, flat with a value and nested with a string, paired with their results
		{`[{"role":"assistant","content":"","reasoning":"hm","reasoning_details":[],"tool_calls":[{"id":"a","name":"sum","arguments":{"x":1}}],"timestamp":"2026-01-01T00:00:00Z"},{"role":"tool","content":"1","tool_call_id":"a"}]`,
			[]string{`assistant "" thought "hm" calls a sum {"x":1} answered true`, `tool "1" answers a sum failed false`}},
		{`{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}},{"id":"c2","type":"function","function":{"name":"ls","arguments":"not json"}}]},{"role":"tool","tool_call_id":"c2","content":"no"}]}`,
			[]string{`assistant "" calls c1 read {"path":"a"} answered false calls c2 ls "not json" answered true`, `tool "no" answers c2 ls failed false`}},
		// a tool's result on its own
		{`{"role":"tool","tool_call_id":"a","output":"boom","success":false}`, []string{`tool "boom" answers a  failed true`}},
		// every kind of part
		{`{"role":"user","content":"photo","parts":[{"type":"text","text":"a cat"},{"type":"image","media_type":"image/jpeg","data":"bigdata"},{"type":"image_url","url":"https://x/y.png"},{"type":"document","media_type":"application/pdf","filename":"a.pdf","data":"` + pixel + `"},{"type":"video","media_type":"video/mp4","filename":"v.mp4","data":"AAAA"},{"type":"video_url","url":"https://x/v.mp4"},{"type":"audio","media_type":"audio/wav","filename":"s.wav","data":"AAAA"}]}`,
			[]string{`user "photo\na cat" text:a cat image:[image/jpeg, 5 B] image_url:[image_url https://x/y.png] document:[application/pdf, a.pdf, 2 kB] video:[video/mp4, v.mp4, 3 B] video_url:[video_url https://x/v.mp4] audio:[audio/wav, s.wav, 3 B]`}},
		{`{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,` + pixel + `","detail":"low"}},{"type":"input_audio","input_audio":{"data":"` + pixel + `","format":"wav"}},{"type":"file","file":{"filename":"b.pdf","file_data":"data:application/pdf;base64,` + pixel + `"}}]}`,
			[]string{`user "look" text:look image_url:[image/png, 2 kB] input_audio:[audio/wav, 2 kB] file:[application/pdf, b.pdf, 2 kB]`}},
		// Anthropic, Gemini, pi
		{`{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"I look."},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]}`,
			[]string{`assistant "I look." thought "hm" text:I look. calls t1 Bash {"command":"ls"} answered false`}},
		{`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":[{"type":"text","text":"no"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + pixel + `"}}]}]}`,
			[]string{`user "no" text:no image:[image/png, 2 kB] answers t1  failed true`}},
		{`{"contents":[{"role":"user","parts":[{"text":"hi"},{"inlineData":{"mimeType":"image/png","data":"` + pixel + `"}}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{"a":1}}}]}]}`,
			[]string{`user "hi" text:hi part:[image/png, 2 kB]`, `model "" calls  f {"a":1} answered false`}},
		{`{"type":"message_end","message":{"role":"toolResult","toolCallId":"c","toolName":"bash","content":[{"type":"text","text":"out"}],"isError":false}}`,
			[]string{`toolResult "out" text:out answers c bash failed false`}},
		{`{"message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"bash","arguments":{"command":"ls"}}]}}`,
			[]string{`assistant "" calls c bash {"command":"ls"} answered false`}},
		// OpenAI's Responses, where calls and results stand beside messages
		{`{"input":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"be kind"}]},{"type":"reasoning","id":"r1","summary":[]},{"type":"function_call","id":"fc_1","call_id":"call_1","name":"exec_command","arguments":"{\"cmd\":\"ls\"}"},{"type":"function_call_output","call_id":"call_1","output":"one\ntwo"}]}`,
			[]string{`developer "be kind" input_text:be kind`, `assistant "" calls call_1 exec_command {"cmd":"ls"} answered true`, `tool "one\ntwo" answers call_1 exec_command failed false`}},
		{`[{"type":"custom_tool_call","call_id":"c","name":"patch","input":"*** Begin"},{"type":"custom_tool_call_output","call_id":"c","output":[{"type":"input_text","text":"done"},{"type":"input_image","image_url":"data:image/png;base64,` + pixel + `"}]}]`,
			[]string{`assistant "" calls c patch "*** Begin" answered true`, `tool "done" input_text:done input_image:[image/png, 2 kB] answers c patch failed false`}},
		{`{"type":"tool_result","call_id":"call-5","summary":"of phi's wire, no message"}`, nil},
		// parts of the kinds whose bytes or addresses stand in an object of their own
		{`{"role":"user","content":[{"type":"video_url","video_url":{"url":"data:video/mp4;base64,` + pixel + `"}},{"type":"video_url","video_url":{"url":"https://x/v.mp4"}},{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"` + pixel + `"},"title":"t.pdf"},{"type":"document","source":{"type":"url","url":"https://x/d.pdf"}},{"type":"image","url":"https://x/i.png"}]}`,
			[]string{`user "" video_url:[video/mp4, 2 kB] video_url:[video_url https://x/v.mp4] document:[application/pdf, t.pdf, 2 kB] document:[document https://x/d.pdf] image:[image https://x/i.png]`}},
		// phi's checkpoints
		{`{"checkpoint":{"step":{"BeforeLlm":{"messages":[{"System":{"content":"s"}},{"User":{"content":"u"}},{"Assistant":{"content":null,"reasoning_content":"r","tool_calls":[["c1","get","{\"city\":\"Oslo\"}"]]}},{"Tool":{"tool_call_id":"c1","content":"4"}}]}}}}`,
			[]string{`system "s"`, `user "u"`, `assistant "" thought "r" calls c1 get {"city":"Oslo"} answered true`, `tool "4" answers c1 get failed false`}},
		// MCP sampling
		{`{"params":{"messages":[{"role":"user","content":{"type":"text","text":"ctx"}}]}}`, []string{`user "ctx" text:ctx`}},
		// no messages
		{`{"role":"admin","content":"x"}`, nil}, {`{"role":"user"}`, nil}, {`{"Tool":"x"}`, nil}, {`{"User":{"content":"x"},"b":1}`, nil}, {`not json`, nil}, {`"user"`, nil},
		{`{"role":"user","content":null}`, []string{`user ""`}},
	} {
		var got []string
		for _, m := range Messages([]byte(c.raw)) {
			got = append(got, tell(m))
			if !Valid([]byte(c.raw)[m.Start:m.End]) {
				t.Errorf("span %v of %s", m.Span, c.raw)
			}
		}
		if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%.300s\n got %s\nwant %s", c.raw, strings.Join(got, "\n     "), strings.Join(c.want, "\n     "))
		}
	}
}

// The messages of real frames.
func TestMessagesReal(t *testing.T) {
	roles := map[string]int{}
	answered := 0
	for _, c := range conversations {
		for _, l := range wire(t, c.file) {
			for _, m := range Messages(l.raw) {
				roles[m.Role]++
				for _, call := range m.Calls {
					if call.ID == "" || call.Name == "" || !Valid([]byte(call.Args)) {
						t.Errorf("call %+v in %.200s", call, l.raw)
					}
					if call.Answered {
						answered++
					}
				}
			}
		}
	}
	for _, role := range []string{"system", "user", "assistant", "toolResult"} {
		if roles[role] == 0 {
			t.Errorf("no message of role %s: %v", role, roles)
		}
	}
	if answered == 0 {
		t.Error("no call was answered")
	}
}

func TestStripBinary(t *testing.T) {
	bytes := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x89PNG", 3000)))
	for raw, want := range map[string]string{
		`{"type":"image","data":"` + bytes + `","mimeType":"image/png"}`:                              `{"type":"image","data":"<image/png, 12 kB>","mimeType":"image/png"}`,
		`{"data":"` + bytes + `","mimeType":"image/png","name":"a \"b\""}`:                            `{"data":"<image/png, a \"b\", 12 kB>","mimeType":"image/png","name":"a \"b\""}`,
		`["data:image\/png;base64,` + strings.ReplaceAll(bytes, "/", `\/`) + `"]`:                     `["<image/png, 12 kB>"]`,
		`{"resource":{"uri":"file:///a","mimeType":"application/pdf","blob":"` + bytes + `"}}`:        `{"resource":{"uri":"file:///a","mimeType":"application/pdf","blob":"<application/pdf, file:///a, 12 kB>"}}`,
		`{"method":"fs/writeFile","params":{"path":"/a","dataBase64":"` + bytes + `"}}`:               `{"method":"fs/writeFile","params":{"path":"/a","dataBase64":"<data, 12 kB>"}}`,
		`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + bytes + `"}}`: `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"<image/png, 12 kB>"}}`,
		// the kinds of OpenAI's parts and their kin
		`{"type":"image_url","image_url":{"url":"data:image/png;base64,` + bytes + `","detail":"low"}}`:       `{"type":"image_url","image_url":{"url":"<image/png, 12 kB>","detail":"low"}}`,
		`{"type":"input_image","image_url":"data:image/jpeg;base64,` + bytes + `"}`:                           `{"type":"input_image","image_url":"<image/jpeg, 12 kB>"}`,
		`{"type":"image","media_type":"image/png","data":"` + bytes + `"}`:                                    `{"type":"image","media_type":"image/png","data":"<image/png, 12 kB>"}`,
		`{"type":"document","media_type":"application/pdf","filename":"a.pdf","data":"` + bytes + `"}`:        `{"type":"document","media_type":"application/pdf","filename":"a.pdf","data":"<application/pdf, a.pdf, 12 kB>"}`,
		`{"type":"file","file":{"filename":"b.pdf","file_data":"data:application/pdf;base64,` + bytes + `"}}`: `{"type":"file","file":{"filename":"b.pdf","file_data":"<application/pdf, b.pdf, 12 kB>"}}`,
		`{"type":"video","media_type":"video/mp4","filename":"v.mp4","data":"` + bytes + `"}`:                 `{"type":"video","media_type":"video/mp4","filename":"v.mp4","data":"<video/mp4, v.mp4, 12 kB>"}`,
		`{"type":"video_url","video_url":{"url":"data:video/mp4;base64,` + bytes + `"}}`:                      `{"type":"video_url","video_url":{"url":"<video/mp4, 12 kB>"}}`,
		`{"type":"video_url","video_url":{"url":"https://x/v.mp4"}}`:                                          `{"type":"video_url","video_url":{"url":"https://x/v.mp4"}}`,
		`{"type":"audio","media_type":"audio/wav","data":"` + bytes + `"}`:                                    `{"type":"audio","media_type":"audio/wav","data":"<audio/wav, 12 kB>"}`,
		`{"type":"input_audio","input_audio":{"data":"` + bytes + `","format":"wav"}}`:                        `{"type":"input_audio","input_audio":{"data":"<audio/wav, 12 kB>","format":"wav"}}`,
	} {
		if got := string(StripBinary([]byte(raw))); got != want {
			t.Errorf("%.100s\n got %.200s\nwant %s", raw, got, want)
		}
	}
	// What only looks a little like it stays, byte for byte.
	for _, raw := range []string{
		`{"data":{"a":1}}`, `{"data":"hello there","mimeType":"image/png"}`, `{"type":"image","data":""}`, `{"data":"` + bytes + `"}`, `{"url":"data:text/plain,hi"}`,
		`{"mimeType":"text/plain","data":"` + strings.Repeat("word", 30) + `"}`, `{"type":"text","text":"` + bytes + `"}`, `{"type":"document","data":"not base64 at all!"}`, `{"data":`, `[1,`, ``,
	} {
		if got := string(StripBinary([]byte(raw))); got != raw {
			t.Errorf("%.100s became %.200s", raw, got)
		}
	}
}

// What people read of a frame is never base64.
func TestTextIsNeverBinary(t *testing.T) {
	bytes := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x89PNG", 3000)))
	for _, c := range []struct {
		dialect, raw, want string
		stream             store.Stream
	}{
		{"acp", `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"image","data":"` + bytes + `","mimeType":"image/png"}}}}`, "[image/png, 12 kB]", store.Out},
		{"acp", `{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"see"},{"type":"image","data":"` + bytes + `","mimeType":"image/png"}]}}`, "see\n[image/png, 12 kB]", store.In},
		{"mcp", `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"here"},{"type":"image","data":"` + bytes + `","mimeType":"image/png"}]}}`, "here\n[image/png, 12 kB]", store.Out},
	} {
		if got := builtinDialect(t, c.dialect).Read(c.stream, []byte(c.raw)).Text; got != c.want {
			t.Errorf("%s: %.100q, want %q", c.dialect, got, c.want)
		}
	}
}

func FuzzMessages(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Add([]byte(`{"messages":[{"role":"assistant","content":[{"type":"image","media_type":"a/b","data":"QUJD"}],"tool_calls":[["a","b","{}"]]},{"Tool":{"tool_call_id":"a"}}]}`))
	f.Add([]byte(`{"a":"data:image/png;base64,QUJD","b":{"type":"file","file":{"file_data":"QUJD"}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := string(raw)
		last := 0
		for _, m := range Messages(raw) {
			if m.Start < last || m.End > len(raw) || !Valid(raw[m.Start:m.End]) || m.Role == "" {
				t.Fatalf("message %+v", m)
			}
			last = m.End
		}
		last = 0
		for _, b := range Binaries(raw) {
			if b.Start < last || b.End > len(raw) || raw[b.Start] != '"' || b.MediaType == "" || b.Size < 0 {
				t.Fatalf("binary %+v", b)
			}
			last = b.End
		}
		out := StripBinary(raw)
		if json.Valid(raw) != json.Valid(out) {
			t.Fatalf("%q became %q", raw, out)
		}
		if again := StripBinary(out); string(again) != string(out) {
			t.Fatalf("%q stripped twice is %q", out, again)
		}
		if string(raw) != before {
			t.Fatal("the input was changed")
		}
	})
}
