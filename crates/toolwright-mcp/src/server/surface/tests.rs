use toolwright::json;

use super::*;
