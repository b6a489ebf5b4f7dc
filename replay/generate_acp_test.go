package replay

import (
	"fmt"
	"slices"
	"strings"
)

// acpPlan is what the client of a generated ACP recording does.
type acpPlan struct {
	convs   []acpConvPlan
	queries int
}

type acpConvPlan struct{ turns []acpTurnPlan }

type acpTurnPlan struct {
	mid   string // "", "mode", "cancel", "query", "cancel_request"
	after int    // updates of the turn it has received by then
}

type acpClient struct {
	plan    acpPlan
	ids     func(int) any
	one     bool
	next    int
	convs   []*acpConv
	open    map[string]func(map[string]any) // by id of an open request
	asks    []any                           // ids of questions to answer
	queries int
}

type acpConv struct {
	n       int
	sid     string
	begun   bool
	turn    int
	inTurn  bool
	prompt  any
	updates int // of this turn
	midDone bool
}

func newACPClient(plan acpPlan, ids func(int) any, one bool) *acpClient {
	c := &acpClient{plan: plan, ids: ids, one: one, open: map[string]func(map[string]any){}}
	for i := range plan.convs {
		c.convs = append(c.convs, &acpConv{n: i + 1})
	}
	return c
}

func (c *acpClient) request(method string, params map[string]any, then func(map[string]any)) map[string]any {
	id := c.ids(c.next)
	c.next++
	c.open[fmt.Sprint(id)] = then
	return map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params}
}

func (c *acpClient) recv(f map[string]any) {
	method, _ := f["method"].(string)
	params, _ := f["params"].(map[string]any)
	switch {
	case method == "":
		key := fmt.Sprint(f["id"])
		then := c.open[key]
		delete(c.open, key)
		if then != nil {
			then(f)
		}
	case f["id"] != nil:
		c.asks = append(c.asks, f["id"])
	case method == "session/update":
		for _, v := range c.convs {
			if v.sid == params["sessionId"] && strings.Contains(text(params), "step") {
				v.updates++
			}
		}
	}
}

func (c *acpClient) actions() []action {
	var list []action
	for i, id := range c.asks {
		list = append(list, action{key: fmt.Sprint("answer ", id), send: func() map[string]any {
			c.asks = slices.Delete(slices.Clone(c.asks), i, i+1)
			return map[string]any{"jsonrpc": "2.0", "id": id, "result": map[string]any{"content": fmt.Sprint("answer to ", id)}}
		}})
	}
	free := !c.one || len(c.open) == 0
	for _, v := range c.convs {
		list = append(list, c.convActions(v, free)...)
	}
	if c.queries < c.plan.queries && free {
		n := c.queries
		list = append(list, action{key: fmt.Sprint("query ", n), conv: 99, send: func() map[string]any {
			c.queries++
			return c.request("session/list", map[string]any{}, nil)
		}})
	}
	return list
}

func (c *acpClient) convActions(v *acpConv, free bool) (list []action) {
	add := func(name string, send func() map[string]any) {
		list = append(list, action{key: fmt.Sprint(name, " ", v.n, ".", v.turn), conv: v.n, send: send})
	}
	turns := c.plan.convs[v.n-1].turns
	if !v.begun {
		if free {
			add("new", func() map[string]any {
				v.begun = true
				return c.request("session/new", map[string]any{"cwd": fmt.Sprintf("/w/p%d", v.n)}, func(f map[string]any) {
					v.sid = f["result"].(map[string]any)["sessionId"].(string)
				})
			})
		}
		return list
	}
	if v.sid == "" {
		return nil
	}
	if v.turn > 0 {
		if p := turns[v.turn-1]; p.mid != "" && !v.midDone && v.updates >= p.after {
			if free || p.mid == "cancel" || p.mid == "cancel_request" || c.one && v.inTurn && len(c.open) == 1 {
				add(p.mid, func() map[string]any { return c.mid(v, p.mid) })
			}
			return list
		}
	}
	if !v.inTurn && v.turn < len(turns) && free {
		add("prompt", func() map[string]any {
			v.turn++
			v.inTurn, v.updates, v.midDone = true, 0, false
			f := c.request("session/prompt", map[string]any{"sessionId": v.sid, "prompt": []any{map[string]any{"type": "text", "text": fmt.Sprintf("turn %d of %d", v.turn, v.n)}}}, func(map[string]any) { v.inTurn = false })
			v.prompt = f["id"]
			return f
		})
	}
	return list
}

func (c *acpClient) mid(v *acpConv, what string) map[string]any {
	v.midDone = true
	switch what {
	case "mode":
		return c.request("session/set_mode", map[string]any{"sessionId": v.sid, "modeId": fmt.Sprintf("m%d", v.turn)}, nil)
	case "query":
		return c.request("session/status", map[string]any{"sessionId": v.sid, "turn": v.turn}, nil)
	case "cancel_request":
		return map[string]any{"jsonrpc": "2.0", "method": "$/cancel_request", "params": map[string]any{"requestId": v.prompt}}
	}
	return map[string]any{"jsonrpc": "2.0", "method": "session/cancel", "params": map[string]any{"sessionId": v.sid}}
}

// acpAgent runs one coroutine a conversation in steps of simulated time.
type acpAgent struct {
	w     *world
	convs map[string]*acpRun
	count int
	ask   int
	waits map[string]func(seq int) // by id of a question
}

type acpRun struct {
	sid     string
	causes  []int  // what it has heard in this conversation
	outs    []*int // what it has said in this turn
	steps   int
	prompt  any
	stopped bool
	pending int
}

func (a *acpAgent) recv(seq int, f map[string]any) {
	method, _ := f["method"].(string)
	params, _ := f["params"].(map[string]any)
	w := a.w
	answer := func(result any, causes []int, after []*int) *int {
		return w.toClient(map[string]any{"jsonrpc": "2.0", "id": f["id"], "result": result}, causes, after, false)
	}
	switch method {
	case "":
		if then := a.waits[fmt.Sprint(f["id"])]; then != nil {
			then(seq)
		}
	case "session/new":
		a.count++
		r := &acpRun{sid: fmt.Sprintf("sess-%d", a.count), causes: []int{seq}}
		a.convs[r.sid] = r
		before := w.rng.IntN(3)
		for i := range before {
			r.outs = append(r.outs, a.update(r, fmt.Sprint("early ", i)))
		}
		w.later(1+w.rng.IntN(20), func() {
			r.outs = append(r.outs, answer(map[string]any{"sessionId": r.sid}, r.causes, nil))
		})
	case "session/prompt":
		r := a.convs[params["sessionId"].(string)]
		r.causes = append(r.causes, seq)
		r.prompt, r.steps, r.stopped, r.outs = f["id"], 2+w.rng.IntN(6), false, nil
		a.step(r)
	case "session/set_mode":
		r := a.convs[params["sessionId"].(string)]
		r.causes = append(r.causes, seq)
		answer(map[string]any{}, []int{seq}, nil)
	case "session/cancel":
		if r := a.convs[params["sessionId"].(string)]; r.prompt != nil {
			r.causes = append(r.causes, seq)
			r.stopped = true
		}
	case "$/cancel_request":
		for _, r := range a.convs {
			if r.prompt != nil && fmt.Sprint(r.prompt) == fmt.Sprint(params["requestId"]) {
				r.causes = append(r.causes, seq)
				r.stopped = true
			}
		}
	default:
		w.later(w.rng.IntN(15), func() { answer(map[string]any{"of": method}, []int{seq}, nil) })
	}
	if w.rng.IntN(12) == 0 {
		w.toClient(map[string]any{"jsonrpc": "2.0", "method": "_note", "params": map[string]any{"n": seq}}, nil, nil, true)
	}
}

func (a *acpAgent) update(r *acpRun, what string) *int {
	return a.w.toClient(map[string]any{"jsonrpc": "2.0", "method": "session/update", "params": map[string]any{
		"sessionId": r.sid, "update": map[string]any{"sessionUpdate": "agent_message_chunk", "content": map[string]any{"type": "text", "text": what}},
	}}, r.causes, r.outs, false)
}

func (a *acpAgent) step(r *acpRun) {
	w := a.w
	w.later(1+w.rng.IntN(10), func() {
		switch {
		case r.pending > 0:
			return // goes on when answered
		case r.steps == 0 || r.stopped:
			r.outs = append(r.outs, w.toClient(map[string]any{"jsonrpc": "2.0", "id": r.prompt, "result": map[string]any{"stopReason": "end_turn"}}, r.causes, r.outs, false))
			r.prompt = nil
			if w.rng.IntN(4) == 0 {
				r.outs = append(r.outs, a.update(r, "late"))
			}
			return
		case w.rng.IntN(4) == 0:
			for range 1 + w.rng.IntN(2) {
				a.question(r)
			}
		default:
			r.outs = append(r.outs, a.update(r, fmt.Sprint("step ", r.steps)))
		}
		r.steps--
		a.step(r)
	})
}

func (a *acpAgent) question(r *acpRun) {
	id := a.ask
	a.ask++
	r.pending++
	r.outs = append(r.outs, a.w.toClient(map[string]any{"jsonrpc": "2.0", "id": id, "method": "fs/read_text_file", "params": map[string]any{"sessionId": r.sid, "path": fmt.Sprintf("/f/%d", id)}}, r.causes, r.outs, false))
	a.waits[fmt.Sprint(id)] = func(seq int) {
		r.causes = append(r.causes, seq)
		if r.pending--; r.pending == 0 {
			a.step(r)
		}
	}
}

func generateACP(seed uint64) (*generated, func(variant) simClient) {
	w := newWorld(seed, "acp")
	plan := acpPlan{queries: w.rng.IntN(3)}
	for range 1 + w.rng.IntN(3) {
		var c acpConvPlan
		for range 1 + w.rng.IntN(3) {
			t := acpTurnPlan{}
			if w.rng.IntN(3) == 0 {
				t.mid = []string{"mode", "cancel", "query", "cancel_request"}[w.rng.IntN(4)]
				t.after = w.rng.IntN(3)
			}
			c.turns = append(c.turns, t)
		}
		plan.convs = append(plan.convs, c)
	}
	w.client = newACPClient(plan, decimal, false)
	w.agent = &acpAgent{w: w, convs: map[string]*acpRun{}, waits: map[string]func(int){}}
	return w.run(), func(v variant) simClient { return newACPClient(plan, v.ids, v.one) }
}
