package dialect

import "agentrec/store"

// Waits says in words what a replay makes of a frame by its row of the table:
// what waits for a frame of the client, or what one of the agent waits for.
// What stands around it in a recording decides the rest.
func (r *Reading) Waits(stream store.Stream) string {
	rule := r.Rule
	if rule == nil {
		rule = &Rule{}
	}
	switch {
	case stream == store.Err:
		return "goes out with the agent's frame before it"
	case stream == store.Out && r.Role == Response && r.Ends:
		return "ends a turn: waits for its request and all that the turn brought"
	case stream == store.Out && r.Role == Response:
		return "answers a request: waits for it and for what was caused before the next act"
	case stream == store.Out && r.Together != "":
		return "goes out with the frames of its group, in the order of its lane"
	case stream == store.Out && r.Role == Request:
		return "asks the client: goes out in the order of its lane, and its answer holds back what follows"
	case stream == store.Out:
		return "goes out in the order of its lane, after the acts and answers before it"
	case r.Role == Response && rule.Class == Free, r.Role != Response && r.Role != Cancel && rule.Class == Free:
		return "free: nothing waits for it"
	case r.Role == Response && rule.First:
		return "an answer: the first of a turn holds back what the agent sent after it"
	case r.Role == Response:
		return "an answer: holds back what the agent sent after it"
	case r.Role == Cancel && rule.Answered:
		return "a cancel: holds back what came after it while its target is open, its answer too"
	case r.Role == Cancel:
		return "a cancel: holds back what came after it; its target gets no answer"
	case rule.Class == Query:
		return "a query: only its own answer waits for it"
	case rule.Turn:
		return "begins a turn: holds back what the agent sent after it"
	case rule.Idle:
		return "an act that the agent takes between turns: holds back what it sent after that"
	}
	return "an act: holds back what the agent sent after it"
}

// Spoken is what people call a frame of that label and role: the label, but for
// frames that the protocol does not know.
func Spoken(label string, role Role) string {
	if role == Raw {
		switch label {
		case labelText:
			return "a line that is no JSON"
		case labelEmpty:
			return "an empty line"
		case labelJSON:
			return "a frame of no known kind"
		}
	}
	return label
}

// Lane says in words which frames keep their order with one.
func (d *Dialect) Lane(stream store.Stream, r *Reading) string {
	switch {
	case d.oneLane:
		return "all frames are in one lane"
	case r.Conversation != "":
		return "in the lane of its conversation"
	case r.Role == Response:
		return "in the lane of its request"
	case r.Role == Cancel, r.About != "":
		return "in the lane of the request that it speaks of"
	case stream == store.In && r.Role == Request:
		return "in a lane of its own"
	}
	return "in the lane of the one request that is open, or in none"
}
