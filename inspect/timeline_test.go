package inspect

import "testing"

func TestEssence(t *testing.T) {
	for _, c := range []struct{ frame, label, conversation, want string }{
		{`{"jsonrpc":"2.0","id":7,"method":"fs/read","params":{"sessionId":"s-1","path":"/a"}}`, "fs/read", "s-1", `{"path":"/a"}`},
		{`{"jsonrpc":"2.0","id":7,"method":"fs/read","params":{"path":"/a","sessionId":"s-1"}}`, "fs/read", "s-1", `{"path":"/a","sessionId":"s-1"}`},
		{`{"method":"turn/start","id":3,"params":{"threadId":"t","input":[{"te`, "turn/start", "t", `{"input":[{"te`},
		{`{"jsonrpc":"2.0","id":8,"error":{"code":-32002,"message":"gone"}}`, "", "", `{"code":-32002,"message":"gone"}`},
		{`{"type": "register_tool", "name": "w"}`, "register_tool", "", `{"name": "w"}`},
		{`{"type":"list_tools"}`, "list_tools", "", `{"type":"list_tools"}`},
		{`{"text":"the \"params\": of it"}`, "x", "", `{"text":"the \"params\": of it"}`},
		{`not JSON`, "", "s", "not JSON"},
		{``, "", "", ""},
	} {
		if got := essence(c.frame, c.label, c.conversation); got != c.want {
			t.Errorf("%s says %s, want %s", c.frame, got, c.want)
		}
	}
}
