package dialect

import "fmt"

// Lint returns, in words for people, what is sound in a table but hardly meant,
// and what it leaves open.
func (d *Dialect) Lint() (warnings, notes []string) {
	answerable := len(d.rules[0]) == 0 || d.refusal != nil
	for _, rules := range d.rules {
		var all *Rule // takes every frame
		for _, r := range rules {
			if all != nil {
				warnings = append(warnings, fmt.Sprintf("family %s (%s) is never reached: %s before it takes every frame", r.Family, r.Stream, all.Family))
				continue
			}
			if len(r.tags) == 0 && len(r.when) == 0 {
				all = r
			}
			switch {
			case r.Role == Response && len(r.id) == 0 && len(r.answers) == 0:
				warnings = append(warnings, fmt.Sprintf("family %s (%s) is a response that answers nothing: write id or answers", r.Family, r.Stream))
			case r.Role == Request && len(r.id) == 0 && len(r.key) == 0:
				warnings = append(warnings, fmt.Sprintf("family %s (%s) is a request that nothing can answer: write id or key", r.Family, r.Stream))
			}
			warnings = append(warnings, misplaced(r)...)
			answerable = answerable || r.refusal != nil || !d.asks()
		}
	}
	if !answerable {
		notes = append(notes, "a replay cannot tell a client no: write refuse, the shape of the protocol's error")
	}
	return warnings, notes
}

// misplaced names what a rule says that has no effect in its role.
func misplaced(r *Rule) []string {
	var out []string
	say := func(wrong bool, key, where string) {
		if wrong {
			out = append(out, fmt.Sprintf("family %s (%s) says %s, which means something %s only", r.Family, r.Stream, key, where))
		}
	}
	say(r.Idle && r.Role != Request, "idle", "of a request")
	say(r.Turn && r.Role != Request && r.Role != Notification, "turn", "of a request or a notification")
	say(r.split != nil && r.Role != Notification, "split", "of a notification")
	say(len(r.promises) > 0 && r.Role != Request, "returns", "of a request")
	say(r.First && r.Role != Response, "first", "of a response")
	return out
}

// asks reports whether the client has requests.
func (d *Dialect) asks() bool {
	for _, r := range d.rules[0] {
		if r.Role == Request {
			return true
		}
	}
	return false
}
