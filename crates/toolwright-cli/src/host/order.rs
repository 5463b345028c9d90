//! Composites in the order they need each other, and those that reach themselves.

use std::collections::HashMap;

use crate::config::composite::CompositeEntry;

/// The order of registration: what a composite uses comes before it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Order {
    /// Positions in the list, each once; members of circles are not among them.
    pub(crate) sorted: Vec<usize>,
    /// Circles, each as positions in the order of their steps.
    pub(crate) circles: Vec<Vec<usize>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Mark {
    New,
    OnTheWay,
    Done,
}

/// Sorts; keeps the order of the list where nothing speaks against it.
pub(crate) fn sort(composites: &[&CompositeEntry]) -> Order {
    let positions: HashMap<&str, usize> = composites.iter().enumerate().map(|(at, composite)| (composite.id.as_str(), at)).collect();
    let below: Vec<Vec<usize>> = composites
        .iter()
        .map(|composite| {
            let uses = composite.uses.iter();
            uses.filter_map(|step| positions.get(step.tool.as_str()).copied()).collect()
        })
        .collect();
    let mut order = Order::default();
    let mut marks = vec![Mark::New; composites.len()];
    for start in 0..composites.len() {
        walk(start, &below, &mut marks, &mut order);
    }
    let circles = &order.circles;
    order.sorted.retain(|at| !circles.iter().flatten().any(|member| member == at));
    order
}

/// Depth first without recursion: a file may chain more composites than a stack is deep.
fn walk(start: usize, below: &[Vec<usize>], marks: &mut [Mark], order: &mut Order) {
    let mut way: Vec<(usize, usize)> = Vec::new();
    if marks.get(start) == Some(&Mark::New) {
        way.push((start, 0));
        set(marks, start, Mark::OnTheWay);
    }
    while let Some((at, next)) = way.last_mut() {
        let at = *at;
        let child = below.get(at).and_then(|children| children.get(*next)).copied();
        *next += 1;
        match child.map(|child| (child, marks.get(child))) {
            None => {
                set(marks, at, Mark::Done);
                order.sorted.push(at);
                way.pop();
            }
            Some((child, Some(Mark::New))) => {
                set(marks, child, Mark::OnTheWay);
                way.push((child, 0));
            }
            Some((child, Some(Mark::OnTheWay))) => {
                let members = way.iter().map(|(member, _)| *member);
                order.circles.push(members.skip_while(|member| *member != child).collect());
            }
            Some(_) => {}
        }
    }
}

fn set(marks: &mut [Mark], at: usize, mark: Mark) {
    if let Some(place) = marks.get_mut(at) {
        *place = mark;
    }
}
