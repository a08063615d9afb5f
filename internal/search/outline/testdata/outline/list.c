#include <stdio.h>
#define MAX(a, b) \
	((a) > (b) ? (a) : (b))

struct node {
	int value;
	struct node *next;
};

typedef struct {
	int x;
} point_t;

typedef int (*compare)(const void *, const void *);
typedef unsigned long size;

enum color { RED, GREEN };

static struct node *head = NULL;
int table[] = { 1, 2 };

static int add(int a, int b);
extern void other(void);

static int
add(int a, int b)
{
	char c = '}';
	if (a) { return b; }
	return a + b;
}

struct node *find(struct node *n, int (*match)(int))
{
	/* { */
#ifdef FAST
	while (n) {
#else
	for (; n; n = n->next) {
#endif
	}
#if 0
	}
#endif
	return n;
}

__attribute__((noreturn)) void stop(void) { for (;;) ; }

INIT(main);
int main(int argc, char **argv) { return 0; }
