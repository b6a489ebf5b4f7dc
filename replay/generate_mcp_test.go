package replay

import (
	"fmt"
	"slices"
)

// mcpPlan is what the client of a generated MCP recording does: calls that run
// at the same time.
type mcpPlan struct {
	calls []mcpCallPlan
	polls int
}

type mcpCallPlan struct {
	token  bool // wants progress
	cancel bool // is cancelled while it runs
}

type mcpClient struct {
	plan   mcpPlan
	ids    func(int) any
	one    bool
	next   int
	ready  int // 0 nothing sent, 1 initialize sent, 2 answered, 3 initialized
	calls  []*mcpCall
	open   map[string]func()
	asks   []any
	polled int
}

type mcpCall struct {
	n                         int
	id                        any
	sent, answered, cancelled bool
}

func newMCPClient(plan mcpPlan, ids func(int) any, one bool) *mcpClient {
	c := &mcpClient{plan: plan, ids: ids, one: one, open: map[string]func(){}}
	for i := range plan.calls {
		c.calls = append(c.calls, &mcpCall{n: i})
	}
	return c
}

func (c *mcpClient) request(method string, params map[string]any, then func()) map[string]any {
	id := c.ids(c.next)
	c.next++
	c.open[fmt.Sprint(id)] = then
	return map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params}
}

func (c *mcpClient) recv(f map[string]any) {
	switch {
	case f["method"] == nil:
		key := fmt.Sprint(f["id"])
		if then := c.open[key]; then != nil {
			then()
		}
		delete(c.open, key)
	case f["id"] != nil:
		c.asks = append(c.asks, f["id"])
	}
}

func (c *mcpClient) actions() []action {
	var list []action
	for i, id := range c.asks {
		list = append(list, action{key: fmt.Sprint("answer ", id), send: func() map[string]any {
			c.asks = slices.Delete(slices.Clone(c.asks), i, i+1)
			return map[string]any{"jsonrpc": "2.0", "id": id, "result": map[string]any{"model": fmt.Sprint("m", id)}}
		}})
	}
	switch c.ready {
	case 0:
		return append(list, action{key: "initialize", send: func() map[string]any {
			c.ready = 1
			return c.request("initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}}, func() { c.ready = 2 })
		}})
	case 2:
		return append(list, action{key: "initialized", send: func() map[string]any {
			c.ready = 3
			return map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"}
		}})
	case 1:
		return list
	}
	free := !c.one || len(c.open) == 0
	for i, v := range c.calls {
		p := c.plan.calls[i]
		if v.sent && p.cancel && !v.answered && !v.cancelled {
			list = append(list, action{key: fmt.Sprint("cancel ", i), conv: i + 1, send: func() map[string]any {
				v.cancelled = true
				delete(c.open, fmt.Sprint(v.id))
				return map[string]any{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": map[string]any{"requestId": v.id}}
			}})
		}
		if !v.sent && free {
			list = append(list, action{key: fmt.Sprint("call ", i), conv: i + 1, send: func() map[string]any {
				v.sent = true
				params := map[string]any{"name": fmt.Sprint("tool ", i)}
				f := c.request("tools/call", params, func() { v.answered = true })
				v.id = f["id"]
				if p.token {
					params["_meta"] = map[string]any{"progressToken": v.id}
				}
				return f
			}})
		}
	}
	if c.polled < c.plan.polls && free {
		list = append(list, action{key: fmt.Sprint("poll ", c.polled), conv: 99, send: func() map[string]any {
			c.polled++
			return c.request("tools/list", map[string]any{}, nil)
		}})
	}
	return list
}

// mcpAgent runs every call by itself.
type mcpAgent struct {
	w       *world
	ask     int
	waits   map[string]func(seq int)
	stopped map[string]func()
	silent  map[int]bool // calls that never get an answer
}

func (a *mcpAgent) recv(seq int, f map[string]any) {
	w := a.w
	params, _ := f["params"].(map[string]any)
	switch f["method"] {
	case nil:
		if then := a.waits[fmt.Sprint(f["id"])]; then != nil {
			then(seq)
		}
	case "tools/call":
		a.call(seq, f)
	case "notifications/cancelled":
		if stop := a.stopped[fmt.Sprint(params["requestId"])]; stop != nil {
			stop()
		}
	case "notifications/initialized":
		for range w.rng.IntN(3) {
			w.toClient(map[string]any{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}, []int{seq}, nil, true)
		}
	default:
		w.toClient(map[string]any{"jsonrpc": "2.0", "id": f["id"], "result": map[string]any{"of": f["method"]}}, []int{seq}, nil, false)
	}
}

func (a *mcpAgent) call(seq int, f map[string]any) {
	w := a.w
	params := f["params"].(map[string]any)
	meta, _ := params["_meta"].(map[string]any)
	causes := []int{seq}
	var outs []*int
	stopped := false
	a.stopped[fmt.Sprint(f["id"])] = func() { stopped = true }
	steps := 1 + w.rng.IntN(4)
	n := 0
	var step func()
	next := func() { w.later(1+w.rng.IntN(12), step) }
	step = func() {
		switch {
		case stopped:
			return
		case steps == 0 && a.silent[seq]:
			return
		case steps == 0:
			w.toClient(map[string]any{"jsonrpc": "2.0", "id": f["id"], "result": map[string]any{"content": params["name"]}}, causes, outs, false)
			delete(a.stopped, fmt.Sprint(f["id"]))
			return
		case w.rng.IntN(4) == 0:
			id := a.ask
			a.ask++
			// Whose question it is stands nowhere, so its own cause is loose;
			// what comes after its answer is not.
			w.toClient(map[string]any{"jsonrpc": "2.0", "id": id, "method": "sampling/createMessage", "params": map[string]any{"n": id}}, causes, nil, true)
			steps--
			a.waits[fmt.Sprint(id)] = func(seq int) { causes = append(causes, seq); next() }
			return
		case meta != nil:
			n++
			outs = append(outs, w.toClient(map[string]any{"jsonrpc": "2.0", "method": "notifications/progress", "params": map[string]any{"progressToken": meta["progressToken"], "progress": n}}, causes, outs, false))
		}
		steps--
		next()
	}
	next()
}

func generateMCP(seed uint64) (*generated, func(variant) simClient) {
	w := newWorld(seed, "mcp")
	plan := mcpPlan{polls: w.rng.IntN(3)}
	for range 1 + w.rng.IntN(5) {
		plan.calls = append(plan.calls, mcpCallPlan{token: w.rng.IntN(2) == 0})
	}
	w.client = newMCPClient(plan, decimal, false)
	w.agent = &mcpAgent{w: w, waits: map[string]func(int){}, stopped: map[string]func(){}, silent: map[int]bool{}}
	return w.run(), func(v variant) simClient { return newMCPClient(plan, v.ids, v.one) }
}
