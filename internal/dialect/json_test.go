package dialect

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// seeds are frames that readers get wrong.
var seeds = []string{
	``, ` `, `null`, `nul`, `-`, `-0`, `01`, `1.`, `1.5e+7`, `1e`, `"a`, `"a"`, `"\u12`, `"\ud83d\ude00"`, `"\ud83d"`, "\"\x01\"", "\"\xff\"",
	`{}`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":1}}`, `[1,2`, `[1,]`, `[]]`, "\ufeff{}", `{"type":"run"} {"type":"run"}`, `{"a":1,"a":2}`,
	`{"\u0074ype":"hello"}`, `{"type":{"type":"run"}}`, `[{"jsonrpc":"2.0","id":0,"method":"x"}]`, `[[[]]]`, `{"id":null,"error":{"code":-32700}}`,
	`{"jsonrpc":"2.0","id":1e400,"method":"a\nb"}`, `{"type":"event","runtimeEventType":"a` + "\u202e" + `b"}`, strings.Repeat("[", 40), strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70),
	`   {"type" : "hello" , "x" : [ 1 , { } , "y" ] }  `, `{"":1,"a.b":{"*":2}}`, `"0123456\"89abcdef\\0123456789"`,
}

func FuzzValid(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if got, want := Valid(raw), json.Valid(raw); got != want {
			t.Errorf("Valid(%q) = %v, encoding/json says %v", raw, got, want)
		}
	})
}

func TestValidDepth(t *testing.T) {
	for _, pair := range []string{"[]", "{}"} {
		in := func(depth int) []byte {
			unit := pair[:1]
			if pair == "{}" {
				unit = `{"a":`
			}
			return []byte(strings.Repeat(unit, depth-1) + pair + strings.Repeat(pair[1:], depth-1))
		}
		if !Valid(in(MaxDepth)) {
			t.Errorf("%s nested %d deep is valid", pair, MaxDepth)
		}
		if Valid(in(MaxDepth + 1)) {
			t.Errorf("%s nested %d deep is not valid", pair, MaxDepth+1)
		}
	}
	if deep := bytes.Repeat([]byte("["), 1<<20); Valid(deep) || Valid(append(deep, bytes.Repeat([]byte("]"), 1<<20)...)) {
		t.Error("a million brackets are not valid")
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		raw = bytes.Trim(raw, " \n\r\t")
		if len(raw) == 0 || raw[0] != '"' || !Valid(raw) {
			return
		}
		var want string
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		if got := strings.ToValidUTF8(decode(raw), "\ufffd"); got != strings.ToValidUTF8(want, "\ufffd") && !bytes.ContainsFunc(raw, func(r rune) bool { return r == '\ufffd' }) {
			t.Errorf("decode(%q) = %q, want %q", raw, got, want)
		}
	})
}

func BenchmarkValid(b *testing.B) {
	raw := []byte(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"sess_88c94470412a6a33dc0eca5c","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I'll help you with that. Let me start by reading some files to understand the current situation."}}}}`)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if !Valid(raw) {
			b.Fatal("not valid")
		}
	}
}
