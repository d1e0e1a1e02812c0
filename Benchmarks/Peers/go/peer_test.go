// The workloads of Benchmarks on the time of Go's testing/synctest.
//
// Built with "go test -c", and run with WORKLOAD and COUNT in the environment; prints the
// nanoseconds (or bytes) per operation. Like the other programs, it runs the work once to warm up,
// then at least three times and for at least 0.2 seconds, and prints the median.
package peer

import (
	"context"
	"fmt"
	"math/rand"
	"os"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// Real time. In a bubble, package time reads virtual time.
func nanoseconds() float64 {
	var now syscall.Timeval
	_ = syscall.Gettimeofday(&now)
	return float64(now.Sec)*1e9 + float64(now.Usec)*1e3
}

func shuffled(count int) []int {
	numbers := rand.New(rand.NewSource(42)).Perm(count)
	for i := range numbers {
		numbers[i]++
	}
	return numbers
}

// Returns the result of body, which runs in a bubble.
func inBubble(t *testing.T, body func() float64) (result float64) {
	synctest.Test(t, func(*testing.T) { result = body() })
	return result
}

func sleepers(deadlines []int) {
	for _, deadline := range deadlines {
		go time.Sleep(time.Duration(deadline))
	}
}

func wake(t *testing.T, deadlines []int) float64 {
	return inBubble(t, func() float64 {
		sleepers(deadlines)
		synctest.Wait()
		begin := nanoseconds()
		time.Sleep(time.Duration(len(deadlines) + 1))
		synctest.Wait()
		return (nanoseconds() - begin) / float64(len(deadlines))
	})
}

func register(t *testing.T, count int) float64 {
	deadlines := shuffled(count)
	return inBubble(t, func() float64 {
		begin := nanoseconds()
		sleepers(deadlines)
		synctest.Wait()
		end := nanoseconds()
		time.Sleep(time.Duration(count + 1))
		return (end - begin) / float64(count)
	})
}

// A sleep that can be cancelled waits for its timer or its context.
func cancel(t *testing.T, count int) float64 {
	order := shuffled(count)
	return inBubble(t, func() float64 {
		cancels := make([]context.CancelFunc, count)
		for i := range cancels {
			ctx, cancel := context.WithCancel(context.Background())
			cancels[i] = cancel
			go func() {
				timer := time.NewTimer(time.Duration(i + 1))
				defer timer.Stop()
				select {
				case <-timer.C:
				case <-ctx.Done():
				}
			}()
		}
		synctest.Wait()
		begin := nanoseconds()
		for _, number := range order {
			cancels[number-1]()
		}
		synctest.Wait()
		return (nanoseconds() - begin) / float64(count)
	})
}

func loop(t *testing.T, count int) float64 {
	return inBubble(t, func() float64 {
		done := make(chan struct{})
		go func() {
			for range count {
				time.Sleep(1)
			}
			close(done)
		}()
		begin := nanoseconds()
		<-done
		return (nanoseconds() - begin) / float64(count)
	})
}

// A sleep advances the time of the bubble.
func advancePastNothing(t *testing.T, count int) float64 {
	return inBubble(t, func() float64 {
		begin := nanoseconds()
		for range count {
			time.Sleep(1)
		}
		return (nanoseconds() - begin) / float64(count)
	})
}

// Concurrent bubbles, one for each test.
func parallelTests(t *testing.T, count int) float64 {
	begin := nanoseconds()
	done := make(chan struct{})
	for range count {
		go func() {
			synctest.Test(t, func(*testing.T) {
				go func() {
					for range 20 {
						time.Sleep(time.Second)
					}
				}()
				synctest.Wait()
				for range 20 {
					time.Sleep(time.Second)
					synctest.Wait()
				}
			})
			done <- struct{}{}
		}()
	}
	for range count {
		<-done
	}
	return (nanoseconds() - begin) / float64(count)
}

func residentBytes() float64 {
	text, _ := os.ReadFile("/proc/self/statm")
	pages, _ := strconv.ParseFloat(strings.Fields(string(text))[1], 64)
	return pages * float64(os.Getpagesize())
}

func bytes(t *testing.T, count int) float64 {
	return inBubble(t, func() float64 {
		before := residentBytes()
		for i := range count {
			go time.Sleep(time.Duration(i + 1))
		}
		synctest.Wait()
		bytes := (residentBytes() - before) / float64(count)
		time.Sleep(time.Duration(count + 1))
		return bytes
	})
}

func TestWorkload(t *testing.T) {
	count, err := strconv.Atoi(os.Getenv("COUNT"))
	if err != nil {
		t.Skip("COUNT is not set")
	}
	workloads := map[string]func() float64{
		"loop":                 func() float64 { return loop(t, count) },
		"wake-distinct":        func() float64 { return wake(t, shuffled(count)) },
		"wake-equal":           func() float64 { return wake(t, ones(count)) },
		"register":             func() float64 { return register(t, count) },
		"cancel":               func() float64 { return cancel(t, count) },
		"advance-past-nothing": func() float64 { return advancePastNothing(t, count) },
		"parallel-tests":       func() float64 { return parallelTests(t, count) },
		"bytes":                func() float64 { return bytes(t, count) },
	}
	name := os.Getenv("WORKLOAD")
	workload := workloads[name]
	if workload == nil {
		t.Fatalf("there is no workload %q", name)
	}
	if name == "bytes" {
		fmt.Println("RESULT", workload())
		return
	}
	workload()
	var times []float64
	for begin := nanoseconds(); len(times) < 3 || nanoseconds()-begin < 2e8; {
		times = append(times, workload())
	}
	sort.Float64s(times)
	fmt.Println("RESULT", times[len(times)/2])
}

func ones(count int) []int {
	deadlines := make([]int, count)
	for i := range deadlines {
		deadlines[i] = 1
	}
	return deadlines
}
