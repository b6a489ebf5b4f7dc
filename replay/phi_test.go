package replay

import (
	"strings"
	"testing"
)

func TestPhiInLockstep(t *testing.T) {
	lines := linesOf(t, "phi")
	c := startReplay(t, Options{File: recordLines(t, "phi", lines...)})
	for _, l := range lines {
		dir, frame, _ := strings.Cut(l, " ")
		if dir == "in" {
			c.send(frame)
		} else {
			c.want(frame)
		}
	}
	rest, err := c.close()
	if err != nil || len(rest) > 0 {
		t.Fatalf("left with %v, unread %q\n%s", err, rest, c.side)
	}
}

// swap returns lines with every old replaced.
func swap(lines []string, old, new string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = strings.ReplaceAll(l, old, new)
	}
	return out
}

// The SDK answers a tool call as soon as it reads it, so the answer and
// toolCallStarted cross; the recording may hold either order.
func TestPhiCrossing(t *testing.T) {
	lines := linesOf(t, "phi")
	var call, started, result int
	for i, l := range lines {
		switch {
		case strings.Contains(l, `"tool_call"`):
			call = i
		case strings.Contains(l, "toolCallStarted"):
			started = i
		case strings.Contains(l, `"tool_result"`):
			result = i
		}
	}
	if call == 0 || started != call+1 || result != started+1 {
		t.Fatalf("the sample has changed: %d %d %d", call, started, result)
	}
	crossed := append([]string(nil), lines...)
	crossed[started], crossed[result] = crossed[result], crossed[started]
	for name, recording := range map[string][]string{"started first": lines, "result first": crossed} {
		t.Run(name, func(t *testing.T) {
			c := startReplay(t, Options{File: recordLines(t, "phi", recording...)})
			for _, l := range lines { // the live client waits for toolCallStarted before it answers
				dir, frame, _ := strings.Cut(l, " ")
				if dir == "in" {
					c.send(frame)
				} else {
					c.want(frame)
				}
			}
			if rest, err := c.close(); err != nil || len(rest) > 0 {
				t.Fatalf("left with %v, unread %q\n%s", err, rest, c.side)
			}
		})
	}
}

func TestPhiMiss(t *testing.T) {
	lines := linesOf(t, "phi")
	c := startReplay(t, Options{File: recordLines(t, "phi", lines...)})
	for _, l := range lines[:7] {
		dir, frame, _ := strings.Cut(l, " ")
		if dir == "in" {
			c.send(frame)
		} else {
			c.want(frame)
		}
	}
	_, frame, _ := strings.Cut(lines[7], " ")
	c.send(strings.Replace(frame, "Say hello", "Say goodbye", 1))
	refused := c.recv()
	if !strings.Contains(refused, `"type":"error"`) || !strings.Contains(refused, "nearest is frame 8") || !strings.Contains(refused, "query") {
		t.Errorf("refusal: %s", refused)
	}
	c.send(frame) // a retry still matches
	c.want(strings.TrimPrefix(lines[8], "out "))
	_, err := c.close()
	if d, ok := err.(Divergence); !ok || d.Count < 2 {
		t.Errorf("left with %v", err)
	}
	for _, want := range []string{"refused: live frame 4: run is not in the recording", `recorded  "Say hello"`, `live      "Say goodbye"`, "--ignore 'query'", "the client did not send run (frame 15)"} {
		if !strings.Contains(c.side.String(), want) {
			t.Errorf("stderr lacks %q:\n%s", want, c.side)
		}
	}
	if strings.Contains(c.side.String(), "sk-demo") {
		t.Errorf("a secret on stderr:\n%s", c.side)
	}
}

func TestPhiKeysVolatileAndSession(t *testing.T) {
	lines := linesOf(t, "phi")
	c := startReplay(t, Options{File: recordLines(t, "phi", lines...)})
	for _, l := range swap(swap(lines, `"session_id": "demo"`, `"session_id": "other"`), "sk-demo-not-a-key", "sk-another") {
		dir, frame, _ := strings.Cut(l, " ")
		if dir == "in" {
			c.send(frame)
		} else {
			c.want(strings.Replace(frame, `"session_id":"demo"`, `"session_id":"other"`, 1))
		}
	}
	if rest, err := c.close(); err != nil || len(rest) > 0 {
		t.Fatalf("left with %v, unread %q\n%s", err, rest, c.side)
	}
}
