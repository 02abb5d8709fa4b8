package textworld

import (
	"fmt"
	"strings"
)

// node is an s-expression: an atom, or a list when list is true.
type node struct {
	atom string
	kids []node
	list bool
	line int
}

// head is the first atom of a list, in lower case.
func (n node) head() string {
	if !n.list || len(n.kids) == 0 || n.kids[0].list {
		return ""
	}
	return strings.ToLower(n.kids[0].atom)
}

const (
	maxDepth = 64       // real problems nest 8 deep
	maxPDDL  = 16 << 20 // bytes; real problems have up to 105 kB
)

// syntaxError is a fault at a line of a PDDL text, counted from 1.
type syntaxError struct {
	line int
	msg  string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.msg) }

func faultf(line int, format string, args ...any) error {
	return &syntaxError{line, fmt.Sprintf(format, args...)}
}

// parseSexpr reads exactly one list; comments run from ; to the end of the line.
func parseSexpr(src string) (node, error) {
	if len(src) > maxPDDL {
		return node{}, faultf(1, "the PDDL text has %d bytes, more than the %d allowed", len(src), maxPDDL)
	}
	var (
		stack []node
		root  node
		done  bool
		line  = 1
	)
	for i := 0; i < len(src); {
		ch := src[i]
		switch {
		case ch == '\n':
			line++
			i++
		case ch == ' ' || ch == '\t' || ch == '\r':
			i++
		case ch == ';':
			for i < len(src) && src[i] != '\n' {
				i++
			}
		case done:
			return node{}, faultf(line, "text after the end of (define …)")
		case ch == '(':
			if len(stack) == maxDepth {
				return node{}, faultf(line, "lists nested more than %d deep", maxDepth)
			}
			stack = append(stack, node{list: true, line: line})
			i++
		case ch == ')':
			if len(stack) == 0 {
				return node{}, faultf(line, "')' without a '('")
			}
			top := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if len(stack) == 0 {
				root, done = top, true
			} else {
				p := &stack[len(stack)-1]
				p.kids = append(p.kids, top)
			}
			i++
		default:
			j := i
			for j < len(src) && !ends(src[j]) {
				if src[j] < 0x20 || src[j] >= 0x7f {
					return node{}, faultf(line, "byte 0x%02x is not allowed in a name", src[j])
				}
				j++
			}
			if len(stack) == 0 {
				return node{}, faultf(line, "expected '(', found %q", clip(src[i:j]))
			}
			p := &stack[len(stack)-1]
			p.kids = append(p.kids, node{atom: src[i:j], line: line})
			i = j
		}
	}
	if len(stack) > 0 {
		return node{}, faultf(line, "the text ends inside the list that starts on line %d: is the file cut off?", stack[len(stack)-1].line)
	}
	if !done {
		return node{}, faultf(line, "no PDDL here: expected (define (problem …) …)")
	}
	return root, nil
}

// ends reports whether a byte ends an atom.
func ends(b byte) bool {
	switch b {
	case ' ', '\t', '\r', '\n', '(', ')', ';':
		return true
	}
	return false
}

// clip shortens a piece of input for an error message.
func clip(s string) string {
	if len(s) > 60 {
		return s[:60] + "…"
	}
	return s
}
