package replay

import (
	"bytes"
	"strings"
	"testing"
)

// misdeed is what a client of the sample does otherwise than the recorded one:
// its frames by their number, as it sends them.
type misdeed struct {
	name   string
	change func(sent []string) []string
	kind   string // of the first divergence; "" when there must be none
	says   string // and a part of its message
}

func says(n int, old, new string) func([]string) []string {
	return func(sent []string) []string {
		if !strings.Contains(sent[n], old) {
			panic("the sample has no " + old)
		}
		sent[n] = strings.Replace(sent[n], old, new, 1)
		return sent
	}
}

func omit(n int) func([]string) []string {
	return func(sent []string) []string { sent[n] = ""; return sent }
}

func exchange(a, b int) func([]string) []string {
	return func(sent []string) []string { sent[a], sent[b] = sent[b], sent[a]; return sent }
}

// insert sends a frame before another.
func insert(n int, frame string) func([]string) []string {
	return func(sent []string) []string { sent[n] = frame + "\n" + sent[n]; return sent }
}

var misdeeds = []misdeed{
	{"wrong prompt", says(2, `"tools"`, `"utensils"`), Refused, "nearest is frame 5, which differs at params.prompt.0.text"},
	{"wrong tool result", says(3, "hello", "goodbye"), Different, "the response to fs/read_text_file differs from frame 14"},
	{"another permission", says(4, `"ok"`, `"no"`), Different, "the response to session/request_permission differs from frame 18"},
	{"error in place of a result", says(8, `"result":{"output":"hi\n","truncated":false}`, `"error":{"code":-32603,"message":"broken"}`), Different, "error in place of the response to terminal/output differs from frame 30"},
	{"act left out", omit(15), Stalled, "never sent session/set_mode (frame 45); it last received the response to session/prompt (frame 44)"},
	{"request too many", insert(15, `{"jsonrpc":"2.0","id":99,"method":"session/set_model","params":{}}`), Refused, "session/set_model is not in the recording; it expects session/set_mode (frame 45) next"},
	{"notification too many", insert(15, `{"jsonrpc":"2.0","method":"_example.dev/never","params":{}}`), Extra, "_example.dev/never is not in the recording"},
	{"the same prompt twice", func(s []string) []string {
		s[6] = s[6] + "\n" + strings.Replace(s[6], `"id":3`, `"id":33`, 1)
		return s
	}, Refused, "nearest is frame 36"},
	{"two turns swapped", exchange(2, 6), Stalled, "never sent session/prompt (frame 5)"},
	{"answer dropped", omit(4), Stalled, "never sent the response to session/request_permission (frame 18); it last received session/request_permission (frame 17)"},
	{"one of three answers dropped", omit(13), Stalled, "never sent"},
	{"answers in another order", exchange(13, 14), "", ""},
	{"answer twice", func(s []string) []string { s[4] = s[4] + "\n" + s[4]; return s }, Extra, "response answers id 1, which no open request of the agent has"},
	{"answer to what was never asked", insert(4, `{"jsonrpc":"2.0","id":77,"result":{}}`), Extra, "response answers id 77, which"},
	{"answer under an id of another type", says(3, `"id":0`, `"id":"0"`), Extra, `response answers id "0", which`},
	{"requests under ids of another type", func(s []string) []string {
		for n := range s {
			if strings.Contains(s[n], `"method"`) && strings.Contains(s[n], `"id":`) {
				id, rest, _ := strings.Cut(strings.SplitN(s[n], `"id":`, 2)[1], ",")
				s[n] = `{"jsonrpc":"2.0","id":"live-` + id + `",` + rest
			}
			s[n] = strings.Replace(s[n], `"requestId":9`, `"requestId":"live-9"`, 1)
		}
		return s
	}, "", ""},
	{"cancel after the answer", exchange(18, 19), "", ""},
	{"cancel after the turn", func(s []string) []string { s[20] = s[18] + "\n" + s[20]; s[18] = ""; return s }, Stalled, "never sent session/cancel (frame 53)"},
	{"cancel left out", omit(18), Stalled, "never sent session/cancel (frame 53)"},
	{"cancel of another request", says(22, `"requestId":9`, `"requestId":8`), Different, "$/cancel_request differs from frame 60"},
	{"early exit", func(s []string) []string { clear(s[6:]); return s }, Unsent, "did not send session/prompt (frame 24)"},
	{"no JSON", says(15, `{`, `{{`), Extra, "a line that is no JSON is not in the recording"},
}

// misbehave plays a recording to a client that sends other frames in the places
// of the recorded ones, "" for none, and several with an LF between. It reads
// what it was sent before, gives up when that does not come, and leaves early
// when the last ones are none.
func misbehave(t *testing.T, name string, lines, sent []string) *memory {
	m := newMemory(t, name, matching{}, lines)
	m.lines(m.e.start())
	last, next := len(sent)-1, 0
	for last > 0 && sent[last] == "" {
		last--
	}
	for i, line := range lines {
		if next > last && last < len(sent)-1 {
			break // it leaves early
		}
		if strings.HasPrefix(line, "out ") && !m.e.done[i+1] {
			m.e.stall()
			break // the client waits for it, and gives up
		}
		if !strings.HasPrefix(line, "in ") {
			continue
		}
		for _, frame := range bytes.Split([]byte(sent[next]), []byte("\n")) {
			if len(frame) > 0 {
				m.lines(m.e.frame(frame))
			}
		}
		next++
	}
	m.e.eof()
	m.v.close(m.e, false)
	return m
}

// TestMisdeeds holds the diagnosis of each: what is said first, for everything
// after it may only follow. What a client is free to choose is no divergence.
func TestMisdeeds(t *testing.T) {
	name, lines := sampleLines(t, "../samples/acp.agentrec")
	var at []int // the lines that the client sends
	for i, line := range lines {
		if strings.HasPrefix(line, "in ") {
			at = append(at, i)
		}
	}
	for _, c := range misdeeds {
		t.Run(c.name, func(t *testing.T) {
			sent := make([]string, len(at))
			for n, i := range at {
				sent[n] = strings.TrimPrefix(lines[i], "in ")
			}
			m := misbehave(t, name, lines, c.change(sent))
			var kind, message string
			if len(m.v.diverge) > 0 {
				kind, message = m.v.diverge[0].Kind, m.v.diverge[0].Message
			}
			if kind != c.kind || !strings.Contains(message, c.says) {
				t.Errorf("the first divergence is %q: %s\nwant %q: %s", kind, message, c.kind, c.says)
			}
		})
	}
}
