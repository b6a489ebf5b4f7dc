package replay

import "testing"

// A client that may leave things out does not stall while it is idle, but does
// when it waits for an answer; the flags that a stall offers accept it.
func TestStall(t *testing.T) {
	lines := []string{
		`in {"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/p","mcpServers":[]}}`,
		`out {"jsonrpc":"2.0","id":1,"result":{"sessionId":"S"}}`,
		`in {"jsonrpc":"2.0","id":2,"method":"session/set_mode","params":{"sessionId":"S","modeId":"m"}}`,
		`out {"jsonrpc":"2.0","id":2,"result":{}}`,
		`in {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"S","prompt":[]}}`,
		`out {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"S","update":{"sessionUpdate":"plan"}}}`,
		`out {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}`,
	}
	play := func(allow bool, prompt bool, free ...string) (m *memory, stalls bool) {
		m = newMemory(t, "acp", matching{}, lines, free...)
		m.v.allow = allow
		m.lines(m.e.start())
		m.lines(m.e.frame([]byte(lines[0][3:])))
		if prompt {
			m.lines(m.e.frame([]byte(lines[4][3:])))
		}
		_, stalls = m.e.stall()
		m.e.eof()
		m.v.close(m.e, false)
		return m, stalls
	}
	for _, c := range []struct {
		name                  string
		allow, prompt, stalls bool
		free                  []string
	}{
		{"idle", false, false, true, nil},
		{"idle, and may leave things out", true, false, false, nil},
		{"waits for an answer", true, true, true, nil},
		{"as the stall offers", true, true, false, []string{"session/set_mode"}},
	} {
		m, stalls := play(c.allow, c.prompt, c.free...)
		if stalls != c.stalls {
			t.Errorf("%s: stalls %v", c.name, stalls)
		}
		if c.name == "waits for an answer" {
			if got, want := m.v.diverge[0].Accept, "--free session/set_mode --allow-unsent"; got != want {
				t.Errorf("%s: offers %q, want %q", c.name, got, want)
			}
		} else if c.allow && len(m.v.diverge) > 0 {
			t.Errorf("%s: %s", c.name, m.v.diverge[0].Message)
		}
	}
}
