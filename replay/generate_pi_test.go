package replay

import (
	"fmt"
	"strings"
)

// piPlan is what the client of a generated pi recording does: runs of one agent,
// with steering in the middle and queries at any time.
type piPlan struct {
	runs    []piRunPlan
	queries int
}

type piRunPlan struct {
	mid   string // "", "steer", "follow_up"
	after int    // deltas it has received by then
}

type piClient struct {
	plan    piPlan
	ids     func(int) any
	one     bool
	next    int
	run     int
	running bool
	midDone bool
	deltas  int
	open    map[string]bool
	asks    []any
	queries int
}

func (c *piClient) command(kind string, fields map[string]any) map[string]any {
	id := fmt.Sprint(c.ids(c.next))
	c.next++
	c.open[id] = true
	f := map[string]any{"id": id, "type": kind}
	for k, v := range fields {
		f[k] = v
	}
	return f
}

func (c *piClient) recv(f map[string]any) {
	switch f["type"] {
	case "response":
		delete(c.open, fmt.Sprint(f["id"]))
	case "extension_ui_request":
		c.asks = append(c.asks, f["id"])
	case "message_update":
		if strings.Contains(text(f), "step") {
			c.deltas++
		}
	case "agent_settled":
		c.running = false
	}
}

func (c *piClient) actions() []action {
	var list []action
	if len(c.asks) > 0 {
		id := c.asks[0]
		list = append(list, action{key: fmt.Sprint("answer ", id), send: func() map[string]any {
			c.asks = c.asks[1:]
			return map[string]any{"type": "extension_ui_response", "id": id, "value": fmt.Sprint("v ", id)}
		}})
	}
	free := !c.one || len(c.open) == 0
	if c.queries < c.plan.queries && free {
		list = append(list, action{key: fmt.Sprint("query ", c.queries), conv: 99, send: func() map[string]any {
			c.queries++
			return c.command("get_state", nil)
		}})
	}
	if c.run > 0 {
		if p := c.plan.runs[c.run-1]; p.mid != "" && !c.midDone && c.deltas >= p.after {
			if free {
				list = append(list, action{key: fmt.Sprint("mid ", c.run), send: func() map[string]any {
					c.midDone = true
					return c.command(p.mid, map[string]any{"message": fmt.Sprint(p.mid, c.run)})
				}})
			}
			return list
		}
	}
	if !c.running && c.run < len(c.plan.runs) && free {
		list = append(list, action{key: fmt.Sprint("prompt ", c.run), send: func() map[string]any {
			c.run++
			c.running, c.midDone, c.deltas = true, false, 0
			return c.command("prompt", map[string]any{"message": fmt.Sprint("run ", c.run)})
		}})
	}
	return list
}

// piAgent has one stream for everything.
type piAgent struct {
	w       *world
	causes  []int
	outs    []*int
	running bool
	steps   int
	dialog  func(seq int)
}

func (a *piAgent) say(f map[string]any) {
	a.outs = append(a.outs, a.w.toClient(f, a.causes, a.outs, false))
}

func (a *piAgent) recv(seq int, f map[string]any) {
	w := a.w
	kind := fmt.Sprint(f["type"])
	answer := func() {
		w.toClient(map[string]any{"id": f["id"], "type": "response", "command": kind, "success": true}, []int{seq}, nil, false)
	}
	switch kind {
	case "extension_ui_response":
		a.causes = append(a.causes, seq)
		if a.dialog != nil {
			a.dialog(seq)
		}
	case "prompt":
		a.causes, a.outs = append(a.causes, seq), nil
		answer()
		a.running, a.steps = true, 2+w.rng.IntN(6)
		a.say(map[string]any{"type": "agent_start"})
		a.step()
	case "steer", "follow_up":
		a.causes = append(a.causes, seq)
		w.later(w.rng.IntN(10), answer)
		if a.running {
			a.say(map[string]any{"type": "queue_update", "steering": []any{f["message"]}, "followUp": []any{}})
			a.steps += w.rng.IntN(3)
		}
	default:
		w.later(w.rng.IntN(10), answer)
	}
}

func (a *piAgent) step() {
	w := a.w
	w.later(1+w.rng.IntN(10), func() {
		if a.steps == 0 {
			a.say(map[string]any{"type": "agent_end", "messages": []any{}, "willRetry": false})
			a.say(map[string]any{"type": "agent_settled", "aborted": false})
			a.running = false
			return
		}
		a.steps--
		if w.rng.IntN(6) == 0 {
			id := fmt.Sprintf("d-%d", a.steps+100*len(a.causes))
			a.say(map[string]any{"type": "extension_ui_request", "id": id, "method": "input", "title": "?"})
			a.dialog = func(int) { a.dialog = nil; a.step() }
			return
		}
		a.say(map[string]any{"type": "message_update", "assistantMessageEvent": map[string]any{"type": "text_delta", "contentIndex": 0, "delta": fmt.Sprint("step ", a.steps)}})
		a.step()
	})
}

func generatePi(seed uint64) (*generated, func(variant) simClient) {
	w := newWorld(seed, "pi")
	plan := piPlan{queries: w.rng.IntN(4)}
	for range 1 + w.rng.IntN(3) {
		r := piRunPlan{}
		if w.rng.IntN(2) == 0 {
			r.mid, r.after = []string{"steer", "follow_up"}[w.rng.IntN(2)], w.rng.IntN(2)
		}
		plan.runs = append(plan.runs, r)
	}
	client := func(ids func(int) any, one bool) *piClient {
		return &piClient{plan: plan, ids: ids, one: one, open: map[string]bool{}}
	}
	w.client = client(decimal, false)
	w.agent = &piAgent{w: w}
	return w.run(), func(v variant) simClient { return client(v.ids, v.one) }
}
