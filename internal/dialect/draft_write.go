package dialect

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"agentrec/store"
)

// Table returns the proposal: a table that compiles, with comments that say
// what each guess rests on. from names the recording.
func (d *Drafter) Table(from string) string {
	var b strings.Builder
	from = cleanLabel(from)
	fmt.Fprintf(&b, "# Proposed from %s: %d frames, %d of them JSON.\n", from, d.seen, len(d.frames))
	b.WriteString("# Every line is a guess. Read it, rename, prune; then: agentrec dialect check FILE, agentrec dialect test FILE RECORDING\n")
	if d.isJSONRPC() {
		d.writeJSONRPC(&b)
		return b.String()
	}
	tag := d.tag()
	kinds := d.kinds(tag)
	d.guessIDs(tag)
	d.guessAnswers(kinds)
	b.WriteString("name: draft\ntitle: a protocol without a name yet\n")
	if tag != "" {
		fmt.Fprintf(&b, "tag: %s\n", yamlText(tag))
	}
	b.WriteString("lanes: one\n")
	d.writeErrorShape(&b, kinds)
	b.WriteString("families:\n")
	slices.SortStableFunc(kinds, func(a, b *draftKind) int { return int(a.stream) - int(b.stream) })
	stream := store.Err
	for _, k := range kinds {
		if k.stream != stream {
			stream = k.stream
			fmt.Fprintf(&b, "  # %s\n", map[store.Stream]string{store.In: "client to agent", store.Out: "agent to client"}[stream])
		}
		if k.tag != "" || tag == "" {
			d.writeKind(&b, k, tag)
		}
	}
	b.WriteString("  # what was not seen\n")
	if tag != "" {
		fmt.Fprintf(&b, "  - {name: other, when: {%s: {is: string}}, label: %s}\n", yamlText(tag), yamlText("{"+tag+"}"))
	} else {
		b.WriteString("  - {name: other}\n")
	}
	return b.String()
}

// isJSONRPC reports whether nearly all frames are requests, notifications or
// responses of JSON-RPC.
func (d *Drafter) isJSONRPC() bool {
	n := 0
	for i := range d.frames {
		f := &d.frames[i]
		_, method := f.text("method")
		_, id := f.get("id")
		answer := slices.ContainsFunc(f.leaves, func(l leaf) bool {
			return l.path == "result" || l.path == "error" || strings.HasPrefix(l.path, "result.") || strings.HasPrefix(l.path, "error.")
		})
		if method || id && (answer || len(f.leaves) <= 2) {
			n++
		}
	}
	return len(d.frames) > 0 && n*10 >= len(d.frames)*9
}

// writeJSONRPC proposes a table over jsonrpc: what conversations there are, and
// the volatile and secret places by method.
func (d *Drafter) writeJSONRPC(b *strings.Builder) {
	kinds := d.kinds("method")
	room, opens := "", ""
	for i := range d.frames {
		for _, l := range d.frames[i].leaves {
			if roomNames().MatchString(l.path) && strings.HasPrefix(l.path, "params.") && room == "" {
				room = l.path
			}
			if roomNames().MatchString(l.path) && strings.HasPrefix(l.path, "result.") && opens == "" {
				opens = l.path
			}
		}
	}
	b.WriteString("name: draft\ntitle: a JSON-RPC protocol without a name yet\nextends: jsonrpc\n")
	if room != "" {
		b.WriteString("lanes: conversation\n")
	}
	b.WriteString("families:\n")
	if opens != "" {
		fmt.Fprintf(b, "  - {name: opened, stream: out, when: {method: {is: absent}, %s: {is: string}}, label: response, role: response, id: id, opens: %s}\n", yamlText(opens), yamlText(opens))
	}
	for _, k := range kinds {
		if k.tag == "" {
			continue
		}
		request := len(d.placesOf(k, func(l leaf) bool { return l.path == "id" })) > 0
		when := "method: " + yamlText(k.tag)
		if request {
			when += ", id: {is: present}"
		}
		fmt.Fprintf(b, "  - name: %s # %d frames\n    stream: %s\n    when: {%s}\n", yamlText(k.tag), len(k.at), k.stream, when)
		if request {
			b.WriteString("    role: request\n    id: id\n")
		} else {
			b.WriteString("    role: notification\n")
		}
		if slices.Contains(d.placesOf(k, func(l leaf) bool { return roomNames().MatchString(l.path) }), room) {
			fmt.Fprintf(b, "    conversation: %s\n", yamlText(room))
		}
		if sub := d.subTag(k, "method"); sub != "" {
			fmt.Fprintf(b, "    label: [%s, %s]\n", yamlText(label(k)+".{"+sub+"}"), yamlText(label(k)))
		}
		d.writePlaces(b, k, "method", "    ")
	}
}

func (d *Drafter) writeKind(b *strings.Builder, k *draftKind, tag string) {
	fmt.Fprintf(b, "  - name: %s # %d frames\n    stream: %s\n", yamlText(k.name()), len(k.at), k.stream)
	if tag != "" {
		fmt.Fprintf(b, "    when: {%s: %s}\n", yamlText(tag), yamlText(k.tag))
	}
	role := k.role
	if role == "" {
		role = "notification"
	}
	fmt.Fprintf(b, "    role: %s", role)
	if k.why != "" {
		fmt.Fprintf(b, " # %s", k.why)
	}
	b.WriteByte('\n')
	for _, x := range []struct{ key, value string }{{"id", k.id}, {"about", k.about}, {"key", k.key}, {"answers", k.answers}} {
		if x.value != "" {
			fmt.Fprintf(b, "    %s: %s\n", x.key, yamlText(x.value))
		}
	}
	if rooms := d.placesOf(k, func(l leaf) bool { return roomNames().MatchString(l.path) && l.token[0] == '"' }); len(rooms) > 0 {
		fmt.Fprintf(b, "    conversation: %s\n", yamlText(rooms[0]))
	}
	sub := d.subTag(k, tag)
	if sub != "" {
		fmt.Fprintf(b, "    label: [%s, %s]\n", yamlText(label(k)+".{"+sub+"}"), yamlText(label(k)))
	}
	d.writeShows(b, k, "    ")
	d.writePlaces(b, k, tag, "    ")
	if sub == "" {
		return
	}
	b.WriteString("    cases:\n")
	for _, c := range d.split(k, sub) {
		fmt.Fprintf(b, "      - when: {%s: %s} # %d frames\n", yamlText(sub), yamlText(c.sub), len(c.at))
		d.writeShows(b, c, "        ")
	}
}

// split returns the cases of a family by its second tag.
func (d *Drafter) split(k *draftKind, sub string) []*draftKind {
	var out []*draftKind
	for _, i := range k.at {
		v, _ := d.frames[i].text(sub)
		n := slices.IndexFunc(out, func(c *draftKind) bool { return c.sub == v })
		if n < 0 {
			n = len(out)
			out = append(out, &draftKind{stream: k.stream, tag: k.tag, sub: v, role: k.role})
		}
		out[n].at = append(out[n].at, i)
	}
	return out
}

func (d *Drafter) writeShows(b *strings.Builder, k *draftKind, indent string) {
	shows, text := d.shows(k)
	if shows == "" {
		return
	}
	fmt.Fprintf(b, "%sshows: %s\n", indent, shows)
	if text != "" {
		fmt.Fprintf(b, "%stext: %s\n", indent, yamlText(text))
	}
	if shows == "call" {
		id := k.id
		if id == "" {
			id = d.field(k, []string{"call_id", "callId", "tool_call_id", "toolCallId", "id"})
		}
		for _, x := range []struct{ key, value string }{{"call", id}, {"tool", d.field(k, toolNames)}, {"args", d.field(k, argNames)}} {
			if x.value != "" {
				fmt.Fprintf(b, "%s%s: %s\n", indent, x.key, yamlText(x.value))
			}
		}
	}
	if shows == "result" && k.id != "" {
		fmt.Fprintf(b, "%scall: %s\n", indent, yamlText(k.id))
	}
	if shows == "end" {
		fmt.Fprintf(b, "%sends: true\n", indent)
	}
	if shows == "error" {
		fmt.Fprintf(b, "%sfailed: true\n", indent)
	}
	if d.streams(k) {
		fmt.Fprintf(b, "%sdelta: append\n", indent)
	}
}

func (d *Drafter) writePlaces(b *strings.Builder, k *draftKind, tag, indent string) {
	write := func(key string, paths []string) {
		paths = slices.DeleteFunc(paths, func(p string) bool { return p == tag || tag == "method" && p == "id" })
		for i, p := range paths {
			paths[i] = yamlText(p)
		}
		if len(paths) > 0 {
			fmt.Fprintf(b, "%s%s: [%s]\n", indent, key, strings.Join(paths, ", "))
		}
	}
	write("volatile", d.placesOf(k, looksVolatile))
	write("secret", d.placesOf(k, looksSecret))
}

// writeErrorShape proposes the refusal: the shape of an error that was seen.
func (d *Drafter) writeErrorShape(b *strings.Builder, kinds []*draftKind) {
	for _, k := range kinds {
		if k.stream != store.Out || !strings.Contains(strings.ToLower(k.name()), "error") {
			continue
		}
		var parts []string
		for _, l := range d.frames[k.at[0]].leaves {
			switch {
			case l.depth > 0 || l.token[0] == '{' || l.token[0] == '[':
				continue
			case l.path == d.textOf(k):
				parts = append(parts, yamlText(l.path)+`: "{message}"`)
			case l.path == k.id:
				parts = append(parts, yamlText(l.path)+": "+yamlText("{"+l.path+"}"))
			case isKind([]byte(l.token), "number") || l.token[0] != '"' || l.token[len(l.token)-1] == '"':
				parts = append(parts, yamlText(l.path)+": "+l.token)
			}
		}
		if len(parts) > 0 {
			fmt.Fprintf(b, "refuse: {%s}\n", strings.Join(parts, ", "))
			return
		}
	}
}

// label returns the name of a family as words of a label: without places.
func label(k *draftKind) string { return strings.NewReplacer("{", "(", "}", ")").Replace(k.name()) }

var plainYAML = later(`^[A-Za-z_][A-Za-z0-9_./$-]*$`)

// yamlText returns s as a YAML scalar that reads as that text. What a terminal
// or an eye could be deceived by stands as an escape (YAML 1.2, 5.7).
func yamlText(s string) string {
	switch strings.ToLower(s) {
	case "", "true", "false", "null", "yes", "no", "on", "off", "y", "n", none:
		return string(quote(s))
	}
	if plainYAML().MatchString(s) {
		return s
	}
	var b strings.Builder
	for _, r := range string(quote(strings.ToValidUTF8(s, "\ufffd"))) {
		switch {
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
