package inspect

import (
	"strings"
	"testing"

	"agentrec/store"
)

func TestFrameOfMessages(t *testing.T) {
	png := strings.Repeat("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ", 40)
	d := drive(t, record(t, "llm", []step{{store.Out, `{"type":"request","messages":[
{"role":"system","content":"be brief"},
{"role":"user","content":[{"type":"text","text":"what is this"},{"type":"image_url","image_url":{"url":"data:image/png;base64,` + png + `"}}]},
{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{\"at\":\"image\"}"}}]},
{"role":"tool","tool_call_id":"c1","content":"a cat"}]}`}}), 80, 40)
	d.settle()
	d.keys("Enter", "3", "Enter", "5").wants("system", "be brief", "user", "what is this", "image/png", "call look", "at: image", "result of look", "a cat")
	for _, mode := range []string{"5", "2"} {
		if text := strings.Join(d.keys(mode).rows(), "\n"); strings.Contains(text, "iVBORw0KGgo") {
			t.Errorf("mode %s shows base64:\n%s", mode, text)
		}
	}
}
