package replay

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"agentrec/store"
)

var seeds = flag.Int("seeds", 25, "how many recordings of each kind to generate")

// TestGenerated plays generated recordings to clients that behave otherwise than
// the recorded one, and holds: nothing is sent before its true cause, a turn's
// response comes after its updates, nobody hangs, and every script obeys law 1.
func TestGenerated(t *testing.T) {
	for name, generate := range map[string]func(uint64) (*generated, func(variant) simClient){"acp": generateACP, "mcp": generateMCP, "pi": generatePi} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(*seeds) {
				g, client := generate(seed)
				for _, v := range variants {
					if problem := playGenerated(t, g, client(v), v, seed); problem != "" {
						t.Fatalf("seed %d, client %q: %s\n%s", seed, v.name, problem, numbered(g.lines))
					}
				}
			}
		})
	}
}

func numbered(lines []string) string {
	var b strings.Builder
	for i, l := range lines {
		fmt.Fprintf(&b, "%4d %s\n", i+1, l)
	}
	return b.String()
}

// playGenerated returns what went wrong, "" for nothing.
func playGenerated(t *testing.T, g *generated, client simClient, v variant, seed uint64) string {
	m := newMemory(t, g.dialect, matching{}, g.lines)
	m.lawOne()
	rng := rand.New(rand.NewPCG(seed, 99))
	order := map[int32]int{}
	var log []string
	receive := func(out []outgoing) string {
		for i, line := range m.lines(out) {
			log = append(log, "< "+line)
			item := out[i].item
			if item == 0 {
				return "refused: " + line + "\n" + strings.Join(log, "\n")
			}
			order[item] = len(order)
			if m.s.items[item].stream != store.Out {
				continue
			}
			seq := int(m.s.items[item].seq)
			for _, c := range g.causes[seq] {
				if !m.e.done[c] && !g.loose[seq] {
					return fmt.Sprintf("frame %d was sent before its cause, frame %d\n%s", seq, c, strings.Join(log, "\n"))
				}
			}
			for _, a := range g.after[seq] {
				if _, sent := order[int32(a)]; !sent {
					return fmt.Sprintf("frame %d was sent before frame %d\n%s", seq, a, strings.Join(log, "\n"))
				}
			}
			client.recv(parseFrame(line))
		}
		return ""
	}
	if problem := receive(m.e.start()); problem != "" {
		return problem
	}
	for {
		list := client.actions()
		if len(list) == 0 {
			break
		}
		line := text(list[v.pick(rng, list)].send())
		log = append(log, "> "+line)
		if problem := receive(m.e.frame([]byte(line))); problem != "" {
			return problem
		}
	}
	m.e.eof()
	m.v.close(m.e, false)
	m.v.notes = slices.DeleteFunc(m.v.notes, func(n Entry) bool { return n.Kind == Early }) // a query may come at any time
	if k := m.kinds(); k != "" {
		return "reported: " + k + "\n" + strings.Join(log, "\n")
	}
	if m.e.left > 0 {
		return fmt.Sprintf("%d frames were not sent", m.e.left)
	}
	return ""
}

// TestLawTwo holds that output depends on the sequence of input frames only:
// replays of one recording to the same client give the same bytes.
func TestLawTwo(t *testing.T) {
	g, client := generateACP(3)
	var first []string
	for run := range 50 {
		m := newMemory(t, g.dialect, matching{}, g.lines)
		c := client(variants[0])
		all := m.lines(m.e.start())
		for i := 0; i < len(all); i++ {
			c.recv(parseFrame(all[i]))
		}
		for list := c.actions(); len(list) > 0; list = c.actions() {
			out := m.lines(m.e.frame([]byte(text(list[0].send()))))
			for _, line := range out {
				c.recv(parseFrame(line))
			}
			all = append(all, out...)
		}
		if run == 0 {
			first = all
		} else if !slices.Equal(all, first) {
			t.Fatalf("run %d differs", run)
		}
	}
	if len(first) == 0 {
		t.Fatal("nothing was sent")
	}
}
